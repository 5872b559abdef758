//! `report --call-graph` in the style of gprof, `--callers` and `--callees`.

use crate::shared::records::{self, Cell, Column, Format};
use crate::shared::table::{TableOptions, grouped, name_text};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use kperf_abi::FuncId;
use kperf_profile::{Accuracy, Arc, CallGraph, Row, Symbols};
use std::io::{self, Write};

/// Which end of the arcs a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Callers,
    Callees,
}

const CALLERS: [Column; 6] = [
    ("calls", "calls"),
    ("share", "calls %"),
    ("total_nanos", "total"),
    ("self_nanos", "self"),
    ("function", "function"),
    ("caller", "called by"),
];
const CALLEES: [Column; 7] = [
    ("calls", "calls"),
    ("share", "total %"),
    ("share_error", ""),
    ("total_nanos", "total"),
    ("self_nanos", "self"),
    ("function", "function"),
    ("callee", "calls"),
];
const ARCS: [Column; 5] = [
    ("caller", "caller"),
    ("callee", "callee"),
    ("calls", "calls"),
    ("total_nanos", "total"),
    ("self_nanos", "self"),
];

/// Writes the callers or the callees of `rows`, the longest first. A caller's share is of the function's calls, a
/// callee's of the function's total time.
pub fn write_ends(
    (graph, accuracy): (&CallGraph, &Accuracy),
    symbols: &Symbols,
    rows: &[&Row],
    end: End,
    (format, limit): (Format, usize),
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut records = Vec::new();
    for row in rows {
        let arcs: Vec<&Arc> = match end {
            End::Callers => graph.callers(row.func),
            End::Callees => graph.callees(row.func).iter().collect(),
        };
        for arc in arcs {
            let (other, share) = match end {
                End::Callers => (arc.caller, arc.calls as f64 / row.calls.max(1) as f64),
                End::Callees => (arc.callee, arc.total_nanos / row.total_nanos.max(f64::MIN_POSITIVE)),
            };
            let is_counted = symbols.is_counted(arc.callee);
            records.push(vec![
                accuracy.count_cell(arc.calls),
                match end {
                    End::Callees if is_counted => Cell::Untimed,
                    End::Callers if accuracy.count(arc.calls).is_none() => Cell::Nothing,
                    _ => Cell::Share(share),
                },
                accuracy
                    .part_error(arc.total_nanos, row.total_nanos)
                    .filter(|_| !is_counted)
                    .map_or(Cell::Nothing, Cell::Share),
                accuracy.time_cell(arc.total_nanos, is_counted),
                accuracy.time_cell(arc.self_nanos, is_counted),
                Cell::Name(symbols.label(row.func)),
                Cell::Name(symbols.label(other)),
            ]);
        }
    }
    let mut columns = if end == End::Callers { CALLERS.to_vec() } else { CALLEES.to_vec() };
    match (end, accuracy.precision().is_none()) {
        // Counts are exact in a trace, and shared out by time in a profile.
        (End::Callers, _) => records.iter_mut().for_each(|record| drop(record.remove(2))),
        (End::Callees, true) => {}
        (End::Callees, false) => columns[2].1 = "±",
    }
    records::write(format, &columns, &records, limit, options, out)
}

/// Writes the call graph. The table has a block for each of the first `limit` rows (all for 0), with the function's callers
/// above it and its callees below. The other formats have a record for each pair of caller and callee.
pub fn write_graph(
    (graph, accuracy): (&CallGraph, &Accuracy),
    symbols: &Symbols,
    rows: &[&Row],
    (format, limit): (Format, usize),
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if format == Format::Table {
        return write_blocks((graph, accuracy), symbols, rows, limit, options, out);
    }
    let record = |arc: &Arc| {
        vec![
            Cell::Name(symbols.label(arc.caller)),
            Cell::Name(symbols.label(arc.callee)),
            accuracy.count_cell(arc.calls),
            accuracy.time_cell(arc.total_nanos, symbols.is_counted(arc.callee)),
            accuracy.time_cell(arc.self_nanos, symbols.is_counted(arc.callee)),
        ]
    };
    let mut arcs: Vec<&Arc> = graph.arcs.iter().collect();
    arcs.sort_by(|a, b| b.total_nanos.total_cmp(&a.total_nanos));
    let records: Vec<_> = arcs.into_iter().map(record).collect();
    records::write(format, &ARCS, &records, limit, options, out)
}

/// Longest name in a block.
const NAME: usize = 60;

fn write_blocks(
    (graph, accuracy): (&CallGraph, &Accuracy),
    symbols: &Symbols,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["total", "self", "calls", "function"]);
    let time = |nanos: f64, func| match symbols.is_counted(func) {
        true => "-".to_owned(),
        false => accuracy.time_text(nanos),
    };
    let name = |func: FuncId| name_text(symbols.label(func), NAME, options);
    let calls_of = |func| graph.row(func).map_or(0, |row| row.calls);
    let calls_text = |arc: &Arc| match accuracy.count(arc.calls) {
        Some(calls) => format!("{} of {}", grouped(calls), grouped(calls_of(arc.callee))),
        None => String::new(),
    };
    for (n, row) in shown.iter().enumerate() {
        if n > 0 {
            table.add_row([""; 4]);
        }
        let mut arc = |arc: &Arc, other: FuncId| {
            // As in gprof: of all calls of the callee.
            let calls = calls_text(arc);
            let recursion = if arc.is_recursive() { " (itself)" } else { "" };
            let name = format!("    {}{recursion}", name(other));
            let (total, self_time) = (time(arc.total_nanos, arc.callee), time(arc.self_nanos, arc.callee));
            table.add_row([total, self_time, calls, name]);
        };
        graph.callers(row.func).into_iter().rev().for_each(|caller| arc(caller, caller.caller));
        table.add_row([
            time(row.total_nanos, row.func),
            time(row.self_nanos, row.func),
            accuracy.count_text(row.calls),
            match row.is_counted {
                true => format!("[{}] {}  counted only", n + 1, name(row.func)),
                false => {
                    let error = accuracy.share_error(row.func, row.share, row.calls);
                    let share = Accuracy::percent_text(row.share, error);
                    format!("[{}] {}  {share}", n + 1, name(row.func))
                }
            },
        ]);
        let mut arc = |arc: &Arc, other: FuncId| {
            let calls = calls_text(arc);
            table.add_row([
                time(arc.total_nanos, arc.callee),
                time(arc.self_nanos, arc.callee),
                calls,
                format!("    {}", name(other)),
            ]);
        };
        let callees = graph.callees(row.func).iter().filter(|callee| !callee.is_recursive());
        callees.for_each(|callee| arc(callee, callee.callee));
    }
    for (n, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if n < 3 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    match rows.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(out, "# and {} more functions", grouped(more as u64)),
    }
}
