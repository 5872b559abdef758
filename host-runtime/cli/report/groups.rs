//! `report --by file`, `module` and `namespace`.

use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::TableOptions;
use kperf_abi::FuncId;
use kperf_profile::{Accuracy, Group, Profile, namespace, printable};
use kperf_trace::ProbeCost;
use std::io::{self, Write};

/// What functions are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// No groups.
    #[default]
    Function,
    /// The source file of the declaration, if the module's DWARF has it.
    File,
    /// The line of the source. A native profile has self time by line; a trace has only the lines of calls, `12|40` where there are several. The module needs debug information, or a source map.
    Line,
    /// The module; for the host's functions, the module that they are imported from.
    Module,
    /// The first part of the name: `std::io`, `main`, `kotlin.Array`.
    Namespace,
    /// What each function allocated.
    Allocations,
    /// What calls on each path allocated.
    AllocationPaths,
}

const COLUMNS: [Column; 8] = [
    ("share", "self %"),
    ("share_error", ""),
    ("self_nanos", "self"),
    ("total_nanos", "total"),
    ("calls", "calls"),
    ("entries", "from others"),
    ("functions", "functions"),
    ("name", "name"),
];

/// Writes the groups, those with the most self time first.
pub fn write(
    profile: &Profile,
    by: By,
    (compensate, accuracy): (Option<&ProbeCost>, &Accuracy),
    (format, limit): (Format, usize),
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let name_of = |func| name_of(profile, by, func);
    let groups = Group::all(&profile.tree, &profile.symbols, &profile.header, compensate, name_of);
    let record = |group: &Group| {
        let error = accuracy.group_error(group.share, group.calls).filter(|_| !group.is_counted);
        vec![
            if group.is_counted { Cell::Untimed } else { Cell::Share(group.share) },
            error.map_or(Cell::Nothing, Cell::Share),
            accuracy.time_cell(group.self_nanos, group.is_counted),
            accuracy.time_cell(group.total_nanos, group.is_counted),
            accuracy.count_cell(group.calls),
            accuracy.count_cell(group.entries),
            Cell::Count(group.functions),
            Cell::Name(printable(&group.name).into_owned()),
        ]
    };
    let records: Vec<_> = groups.iter().map(record).collect();
    let mut columns = COLUMNS;
    if !accuracy.has_exact_shares() {
        columns[1].1 = "±";
    }
    records::write(format, &columns, &records, limit, options, out)
}

fn name_of(profile: &Profile, by: By, func: FuncId) -> String {
    let symbols = &profile.symbols;
    let name = symbols.name(func);
    let imported = symbols.get(func).is_some_and(|symbol| symbol.imported);
    let text = match by {
        By::Function | By::Line | By::Allocations | By::AllocationPaths => &name,
        By::Module | By::File if imported => namespace(&name),
        By::File => symbols.source(func).map_or("(unknown)", |(file, _)| file),
        By::Module => symbols.module(func).unwrap_or(&name),
        By::Namespace => namespace(&name),
    };
    if text.is_empty() { "(none)".to_owned() } else { text.to_owned() }
}
