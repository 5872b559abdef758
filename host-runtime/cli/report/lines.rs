//! `report --by line`.

use crate::shared::output;
use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::TableOptions;
use kperf_profile::{Accuracy, LineRow, Lines, Profile, printable};
use kperf_trace::ProbeCost;
use std::io::{self, Write};

const COLUMNS: [Column; 9] = [
    ("share", "self %"),
    ("share_error", ""),
    ("self_nanos", "self"),
    ("samples", ""),
    ("calls", "calls made"),
    ("calls_nanos", "they took"),
    ("place", "line"),
    ("function", "function"),
    ("inlined", ""),
];
/// The last column if a row has inlined calls.
const INLINED: Column = ("inlined", "through the inlined");

/// Writes the lines, those with the most self time first.
pub fn write(
    profile: &Profile,
    compensate: Option<&ProbeCost>,
    accuracy: &Accuracy,
    (format, limit): (Format, usize),
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let lines = Lines::new(profile, compensate, |_| true);
    hint_at_missing_lines(profile, &lines);
    let record = |row: &LineRow| {
        let share = |nanos: f64| if lines.self_nanos > 0.0 { nanos / lines.self_nanos } else { 0.0 };
        // The probes' cost isn't known by line.
        let error = |nanos: Option<f64>| accuracy.part_error(nanos?, lines.self_nanos);
        vec![
            row.self_nanos.map_or(Cell::Untimed, |nanos| Cell::Share(share(nanos))),
            error(row.self_nanos).map_or(Cell::Nothing, Cell::Share),
            row.self_nanos.map_or(Cell::Untimed, |nanos| accuracy.time_cell(nanos, false)),
            Cell::Count(row.samples),
            if row.calls > 0 { Cell::Count(row.calls) } else { Cell::Nothing },
            if row.calls > 0 { accuracy.time_cell(row.total_nanos, false) } else { Cell::Nothing },
            Cell::Name(place(profile, row, format)),
            Cell::Name(profile.symbols.label(row.func)),
            Cell::Name(row.inlined.join(" | ")),
        ]
    };
    let records: Vec<_> = lines.rows.iter().map(record).collect();
    let mut columns = COLUMNS;
    if accuracy.precision().is_some() {
        columns[1].1 = "±";
    }
    if let (true, Some(last)) = (lines.rows.iter().any(|row| !row.inlined.is_empty()), columns.last_mut()) {
        *last = INLINED;
    }
    records::write(format, &columns, &records, limit, options, out)
}

/// The place, as text. If the line is unknown, a table shows the function's file.
fn place(profile: &Profile, row: &LineRow, format: Format) -> String {
    let text = match (row.places.is_empty(), format) {
        (false, _) => row.text(),
        (true, Format::Table) => match profile.symbols.source(row.func) {
            Some((file, _)) => format!("{file}:?"),
            None => "?".to_owned(),
        },
        (true, Format::Json | Format::Csv) => String::new(),
    };
    printable(&text).into_owned()
}

fn hint_at_missing_lines(profile: &Profile, lines: &Lines) {
    let has_lines = profile.symbols.tables().iter().any(|table| !table.codes.is_empty());
    if !has_lines {
        output::hint(format_args!(
            "the trace has no lines: record a module with debug information or a source map, or give one of the same build \
             with --symbols"
        ));
    } else if profile.places.is_empty() && profile.sampling().is_none() {
        output::hint(format_args!(
            "a trace has only the lines of calls; self time by line is in a profile: `kperf-wasm run --record profile`, on \
             Linux on x86-64"
        ));
    } else if lines.known_nanos < 0.5 * lines.self_nanos {
        output::hint(format_args!("most of the time is in code without lines in the debug information"));
    }
}
