//! What a trace says of its allocations.

use anyhow::bail;
use kperf_abi::symbols::{Allocations, Allocator};
use kperf_profile::{Heap, Profile, printable};

/// Fails if a trace has no allocations because none were recorded.
pub fn check(profile: &Profile, heap: &Heap) -> anyhow::Result<()> {
    if heap.records() == 0 && recorded(profile).next().is_none() {
        bail!("the trace has no allocations; `run --allocations` or `rewrite --allocations` records them");
    }
    Ok(())
}

/// How allocations were recorded, for each module.
pub fn recorded(profile: &Profile) -> impl Iterator<Item = &Allocations> {
    profile.symbols.tables().iter().filter_map(|table| table.module.allocations.as_ref())
}

/// The functions of an allocator, as a line.
pub fn allocators(allocations: &Allocations) -> String {
    let name = |allocator: &Allocator| match allocator.found_by.as_str() {
        "told" => format!("{} (as {})", printable(&allocator.name), printable(&allocator.role)),
        "export" => format!("{} (an export)", printable(&allocator.name)),
        _ => printable(&allocator.name).into_owned(),
    };
    match allocations.allocators.as_slice() {
        [] => "no function of an allocator was found; memory.grow is recorded".to_owned(),
        allocators => format!("allocator: {}", allocators.iter().map(name).collect::<Vec<_>>().join(", ")),
    }
}
