//! The flat profile as a table, for `report` and for the end of `run`.

pub mod color;
pub mod fit;
pub mod sampled;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use fit::{Shown, Texts};
use kperf_profile::{Accuracy, Caller, FlatProfile, Profile, Row, Symbols, Unit, printable, times_text};
use kperf_trace::{Header, Wait};
use std::io::{self, Write};

pub use kperf_profile::{grouped, plural};

/// How a table is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Whether names are written in full, however long they are.
    pub full_names: bool,
    /// The unit of times.
    pub unit: Unit,
    /// Where it is shown.
    pub shown: Shown,
}

/// Longest name of a function, in characters, unless names are in full.
const NAME: usize = 48;
/// How many of the first columns are numbers.
const NUMBERS: usize = 7;
/// How wide a terminal is that has room for bars.
const WITH_BARS: usize = 60;
/// Longest name of a caller.
const CALLER: usize = 32;

/// Writes the lines above the table and the first `limit` functions (all for 0), the ones with the most self time first.
pub fn print_top(profile: &Profile, limit: usize, shown: Shown, mut out: impl Write) -> io::Result<()> {
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let rows: Vec<&Row> = flat.rows.iter().collect();
    write_head(profile, &flat, false, &mut out)?;
    let accuracy = Accuracy::of(profile, flat.self_nanos);
    let options = TableOptions { unit: Unit::of(&profile.header), shown, ..TableOptions::default() };
    write_rows(profile, &accuracy, &rows, limit, options, &mut out)
}

/// Writes the lines above a table: clock, host, time, calls.
pub fn write_head(
    profile: &Profile,
    flat: &FlatProfile,
    compensated: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Profile { header, health, lanes, .. } = profile;
    let cost = match (&header.probe_cost, compensated) {
        (Some(cost), true) => {
            format!(", less {:.1} ns a call for the probes", cost.inside_nanos + cost.outside_nanos)
        }
        (Some(cost), false) => {
            format!(", probes cost {:.1} ns a call", cost.inside_nanos + cost.outside_nanos)
        }
        (None, _) => String::new(),
    };
    match profile.sampling() {
        Some(_) => writeln!(out, "# {}", times_text(profile))?,
        None => writeln!(out, "# {}{cost}", times_text(profile))?,
    }
    writeln!(out, "# host:  {}", host_text(header))?;
    let outcome = health.outcome().map(|outcome| format!(", {}", printable(outcome))).unwrap_or_default();
    let unit = Unit::of(header);
    // Several instances count side by side, so the longest count means nothing.
    let wall = match unit {
        Unit::Time => unit.text(profile.wall_nanos()),
        Unit::Instructions => unit.text(flat.self_nanos.max(0.0).round() as u64),
    };
    let pauses = pauses_text(profile, flat);
    writeln!(out, "# {} {wall}{pauses}{outcome}", if unit == Unit::Time { "wall: " } else { "count:" })?;
    if let Some(sampling) = profile.sampling().filter(|_| profile.runs().is_none()) {
        writeln!(out, "# seen:  {}", sampled::busy_text(profile, sampling))?;
    }
    // The host's functions execute no instructions of the guest's.
    if let Some(host) = flat.host_nanos(&profile.symbols).filter(|_| unit == Unit::Time) {
        let share = 100.0 * host / flat.self_nanos.max(f64::MIN_POSITIVE);
        let guest = unit.text((flat.self_nanos - host).max(0.0).round() as u64);
        writeln!(
            out,
            "# time:  {guest} in the guest, {} in the host's functions ({share:.1} %)",
            unit.text(host.round() as u64)
        )?;
    }
    write!(
        out,
        "# calls: {} of {}, {}",
        grouped(profile.calls()),
        plural(flat.rows.len() as u64, "function"),
        plural(lanes.len() as u64, "lane"),
    )?;
    let mut before = ", ";
    if profile.hidden_calls > 0 {
        write!(out, "; {} left out", grouped(profile.hidden_calls))?;
        before = "; of all ";
    }
    for (what, count) in health.cut_short() {
        write!(out, "{before}{} {what}", grouped(count))?;
        before = ", ";
    }
    writeln!(out)?;
    let counted: Vec<&Row> = flat.rows.iter().filter(|row| row.is_counted).collect();
    if !counted.is_empty() {
        let calls = grouped(counted.iter().map(|row| row.calls).sum());
        let functions = plural(counted.len() as u64, "function");
        writeln!(
            out,
            "# of which {calls} counted only, of {functions}: their time is part of their callers'"
        )?;
    }
    Ok(())
}

/// The times that are no function's. Less than a hundredth of all time is not shown.
fn pauses_text(profile: &Profile, flat: &FlatProfile) -> String {
    let unit = Unit::of(&profile.header);
    let estimated = profile.health.counts.waited[Wait::Estimated as usize];
    let guess = if estimated > 0 { ", its places estimated" } else { "" };
    let parts = [
        (flat.recorder_nanos, "in the recorder", ""),
        (flat.processor_nanos, "waiting for a processor", guess),
        (flat.waiting_nanos, "in waits of its own", ""),
    ];
    let shown = parts.into_iter().filter(|(nanos, ..)| *nanos > 0.0 && nanos * 100.0 >= flat.whole_nanos());
    // Lanes may wait at the same time. With several runs, the wall time is of all runs and the waits are means.
    let (whole, of_it, of) = match (profile.runs(), &profile.lanes[..]) {
        (Some(_), _) => (flat.whole_nanos(), "", " of a run"),
        (None, [_]) => (profile.wall_nanos() as f64, " of it", ""),
        (None, _) => (flat.whole_nanos(), "", " of all lanes"),
    };
    let text = |(nanos, what, guess): (f64, _, _)| {
        let (share, time) = (100.0 * nanos / whole, unit.text(nanos.round() as u64));
        format!(", {time}{of_it} {what} ({share:.0} %{of}{guess})")
    };
    shown.map(text).collect()
}

/// The titles of columns, and a function that gives the cells of a row.
pub type Columns<'a> = (&'a [&'a str], &'a dyn Fn(&Row) -> Vec<String>);

/// Writes the first `limit` rows (all for 0), and how many are left out. `more` are additional columns, before the
/// column of the longest call.
pub fn write_rows_with(
    symbols: &Symbols,
    accuracy: &Accuracy,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    (titles, more): Columns<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let error: &[&str] = if accuracy.has_exact_shares() { &[] } else { &["±"] };
    let header =
        ["self %"].iter().chain(error).chain(&["self", "total", "calls", "avg", "min"]).chain(titles);
    let header: Vec<&str> = header.chain(&["max", "function", "callers"]).copied().collect();
    let cells = |row: &Row| {
        let known = |text: String| if row.is_counted { "-".to_owned() } else { text };
        let mut cells = vec![known(format!("{:.1}", 100.0 * row.share))];
        cells.extend(error_text(accuracy, row).map(known));
        cells.extend([
            known(accuracy.time_text(row.self_nanos)),
            known(accuracy.time_text(row.total_nanos)),
            grouped(row.calls),
            known(accuracy.mean_text(row.average_nanos, row.total_nanos, row.calls)),
            known(accuracy.call_text(row.min_nanos)),
        ]);
        cells.extend(more(row).into_iter().map(known));
        cells.extend([
            known(accuracy.call_text(row.max_nanos)),
            name_text(symbols.label(row.func), NAME, options),
            callers_text(symbols, &row.callers, options),
        ]);
        cells
    };
    write_table(&header, NUMBERS + error.len() + titles.len(), (rows, limit), options, cells, out)
}

/// How far a share may be off, in points, if it isn't exact.
fn error_text(accuracy: &Accuracy, row: &Row) -> Option<String> {
    let error = accuracy.share_error(row.func, row.share, row.calls);
    error.map(|error| format!("{:.1}", 100.0 * error))
}

/// Writes the first `limit` rows (all for 0) under these titles, how many rows are left out, and which columns the terminal has no
/// room for. The first `numbers` columns are numbers.
fn write_table(
    titles: &[&str],
    numbers: usize,
    (rows, limit): (&[&Row], usize),
    options: TableOptions,
    cells: impl Fn(&Row) -> Vec<String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let listed = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
    let Shown { color, width } = options.shown;
    let mut texts = Texts {
        titles: titles.iter().map(|&title| title.to_owned()).collect(),
        rows: listed.iter().map(|row| cells(row)).collect(),
    };
    let bars = color && width.is_none_or(|width| width >= WITH_BARS);
    let bar = if bars { color::BAR + 2 } else { 0 };
    let left_out = match width {
        Some(width) if !options.full_names => texts.fit(width.saturating_sub(bar)),
        _ => Vec::new(),
    };
    let numbers = numbers - left_out.iter().filter(|&&title| title != "callers").count().min(numbers);
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let without_bars = usize::from(!bars);
    if color {
        table.enforce_styling();
        let titles = texts.titles.iter().map(|title| color::title(title));
        table.set_header([color::title("")].into_iter().chain(titles).skip(without_bars));
    } else {
        table.set_header(texts.titles);
    }
    for (row, cells) in listed.iter().zip(texts.rows) {
        match color {
            true => table.add_row(color::cells(row, cells, numbers).into_iter().skip(without_bars)),
            false => table.add_row(cells),
        };
    }
    let last = table.column_count().saturating_sub(1);
    let bars = usize::from(bars);
    for (n, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if n == last { 0 } else { 2 }));
        if (bars..bars + numbers).contains(&n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    match rows.len() - listed.len() {
        0 => {}
        more => writeln!(out, "# and {}", plural(more as u64, "more function"))?,
    }
    match left_out.join(", ") {
        columns if columns.is_empty() => Ok(()),
        columns => {
            writeln!(out, "# no room for {columns}: make the terminal wider, or see `report --format csv`")
        }
    }
}

/// Writes the rows of a trace without additional columns, or the rows of a sampled profile with the columns that it has.
pub fn write_rows(
    profile: &Profile,
    accuracy: &Accuracy,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let symbols = &profile.symbols;
    match profile.sampling() {
        Some(_) => sampled::write_rows(symbols, accuracy, rows, limit, options, out),
        None => write_rows_with(symbols, accuracy, rows, limit, options, (&[], &|_| Vec::new()), out),
    }
}

/// The engine that ran the guest, and the system.
pub fn host_text(header: &Header) -> String {
    let host = &header.host;
    let engine = [&host.name, &host.version];
    let system = [&host.os, &host.arch];
    let words = |words: [&String; 2]| {
        words
            .map(|word| printable(word))
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    match (words(engine), words(system)) {
        (engine, system) if engine.is_empty() && system.is_empty() => "unknown".to_owned(),
        (engine, system) if system.is_empty() => engine,
        (engine, system) if engine.is_empty() => system,
        (engine, system) => format!("{engine} on {system}"),
    }
}

/// A duration in which fractions of a nanosecond matter.
pub fn fine_text(nanos: f64) -> String {
    Unit::Time.fine_text(nanos)
}

/// The caller with the most calls, and the number of other callers.
fn callers_text(symbols: &Symbols, callers: &[Caller], options: TableOptions) -> String {
    match callers {
        [] => String::new(),
        [only] => name_text(symbols.label(only.func), CALLER, options),
        [first, others @ ..] => {
            format!("{} +{}", name_text(symbols.label(first.func), CALLER, options), others.len())
        }
    }
}

/// A name; if it is too long, the middle is left out, because both ends say more.
pub fn name_text(name: String, limit: usize, options: TableOptions) -> String {
    let length = name.chars().count();
    if options.full_names || length <= limit {
        return name;
    }
    let head = limit / 2 - 1;
    let tail = limit - head - 2;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{start}..{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::FuncId;
    use kperf_profile::HOST;
    use kperf_trace::HostInfo;

    #[test]
    fn long_names_lose_their_middle() {
        let short = TableOptions::default();
        assert_eq!(name_text("x".repeat(10), 10, short), "xxxxxxxxxx");
        assert_eq!(name_text("äbcdefghijk".to_owned(), 10, short), "äbcd..hijk");
        assert_eq!(
            name_text("abcdefghijk".to_owned(), 10, TableOptions { full_names: true, ..short }),
            "abcdefghijk"
        );
    }

    #[test]
    fn the_main_caller_is_named() {
        let caller = |func, calls| Caller { func, calls };
        let text = |callers: &[Caller]| callers_text(&Symbols::default(), callers, TableOptions::default());
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[caller(HOST, 1)]), "[host]");
        let three = [caller(FuncId(7), 3), caller(FuncId(8), 2), caller(FuncId(9), 1)];
        assert_eq!(text(&three), "func id 7 +2");
    }

    #[test]
    fn a_host_is_described_as_far_as_it_is_known() {
        let mut header = Header::default();
        assert_eq!(host_text(&header), "unknown");
        header.host = HostInfo { name: "node".into(), os: "linux".into(), ..HostInfo::default() };
        assert_eq!(host_text(&header), "node on linux");
    }
}
