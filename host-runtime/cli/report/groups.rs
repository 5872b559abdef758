//! The report by source file, module or namespace.

use crate::records::{self, Cell, Column, Format};
use crate::table::TableOptions;
use kperf_abi::FuncId;
use kperf_profile::{Group, Profile, namespace, printable};
use kperf_trace::ProbeCost;
use std::io::{self, Write};

/// What functions are taken together by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Each for itself.
    #[default]
    Function,
    /// The source file that they are declared in, where the module has DWARF that says it.
    File,
    /// The module that they are of; functions of the host by the module they are imported from.
    Module,
    /// What their names begin with: `std::io`, `main`, `kotlin.Array`.
    Namespace,
}

const COLUMNS: [Column; 7] = [
    ("share", "self %"),
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
    compensate: Option<&ProbeCost>,
    (format, limit): (Format, usize),
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let name_of = |func| name_of(profile, by, func);
    let groups = Group::all(&profile.tree, &profile.symbols, &profile.header, compensate, name_of);
    let record = |group: &Group| {
        vec![
            if group.is_counted { Cell::Untimed } else { Cell::Share(group.share) },
            Cell::time(group.self_nanos, group.is_counted),
            Cell::time(group.total_nanos, group.is_counted),
            Cell::Count(group.calls),
            Cell::Count(group.entries),
            Cell::Count(group.functions),
            Cell::Name(printable(&group.name).into_owned()),
        ]
    };
    let records: Vec<_> = groups.iter().map(record).collect();
    records::write(format, &COLUMNS, &records, limit, options, out)
}

fn name_of(profile: &Profile, by: By, func: FuncId) -> String {
    let symbols = &profile.symbols;
    let name = symbols.name(func);
    let imported = symbols.get(func).is_some_and(|symbol| symbol.imported);
    let text = match by {
        By::Function => &name,
        By::Module | By::File if imported => namespace(&name),
        By::File => symbols.source(func).map_or("(unknown)", |(file, _)| file),
        By::Module => symbols.module(func).unwrap_or(&name),
        By::Namespace => namespace(&name),
    };
    if text.is_empty() { "(none)".to_owned() } else { text.to_owned() }
}
