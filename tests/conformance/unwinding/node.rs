//! Runs a module under node, and makes a trace of what its recorder wrote.

use super::folder;
use kperf_rewriter::{Filter, Options, Pattern, rewrite};
use kperf_trace::{Header, Summary, TraceWriter};
use std::path::Path;
use std::process::{Command, Output};

/// Rewrites a module and runs it by `run.mjs`; the trace goes to a file. `filter`: nothing, or `--skip` and a pattern.
pub(crate) fn run(node: &Path, kind: &str, module: &Path, trace: &Path, filter: &[&str]) -> Output {
    let skip = filter.get(1).map(|pattern| Pattern::parse(pattern).unwrap()).into_iter().collect();
    let filter = Filter { skip, ..Filter::default() };
    let options = Options { module_name: "module".to_owned(), filter, ..Options::default() };
    let rewritten = rewrite(&wat::parse_file(module).unwrap(), &options).unwrap();
    let scratch = trace.parent().unwrap();
    let probed = scratch.join(module.with_extension("wasm").file_name().unwrap());
    std::fs::write(&probed, rewritten.wasm).unwrap();

    let blocks = trace.with_extension("blocks");
    // The recorder's blocks are appended.
    std::fs::write(&blocks, []).unwrap();
    let output = Command::new(node)
        .arg(folder().join("run.mjs"))
        .args([kind.as_ref(), probed.as_os_str(), blocks.as_os_str()])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/guest-shim/src/recorder"))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", node.display()));
    let blocks =
        std::fs::read(&blocks).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));

    // Its clock counts nanoseconds if nothing else is said.
    let file = std::fs::File::create(trace).unwrap();
    let mut writer = TraceWriter::new(file, &Header::default()).unwrap();
    writer.symbols(&rewritten.symbols.to_bytes()).unwrap();
    let mut rest = &blocks[..];
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (block, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        writer.block(0, block).unwrap();
        rest = behind;
    }
    writer.finish(&Summary::default()).unwrap();
    output
}
