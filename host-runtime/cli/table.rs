//! The flat profile as a table: for `report`, and for the end of `run`.

pub mod sampled;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use kperf_profile::{Caller, FlatProfile, Profile, Row, Symbols, nanos_text, printable};
use kperf_trace::{ClockKind, Header};
use std::io::{self, Write};

/// How a table is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Whether names are written in full, however long they are.
    pub full_names: bool,
}

/// Longest name of a function, in characters, unless names are wanted in full.
const NAME: usize = 48;
/// The first columns are numbers.
const NUMBERS: usize = 7;
/// Longest name of a caller.
const CALLER: usize = 32;

/// Writes the head of the profile and its first `limit` functions (all for 0), those with the most self time first: what
/// one wants to see after a run.
pub fn print_top(profile: &Profile, limit: usize, mut out: impl Write) -> io::Result<()> {
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let rows: Vec<&Row> = flat.rows.iter().collect();
    write_head(profile, &flat, false, &mut out)?;
    write_rows(profile, &rows, limit, TableOptions::default(), &mut out)
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
        Some(sampling) => writeln!(out, "# times: {}", sampled::text(sampling))?,
        None => writeln!(out, "# clock: {}{cost}", clock_text(header))?,
    }
    writeln!(out, "# host:  {}", host_text(header))?;
    let outcome = health.outcome().map(|outcome| format!(", {}", printable(outcome))).unwrap_or_default();
    writeln!(out, "# wall:  {}{outcome}", nanos_text(profile.wall_nanos()))?;
    if let Some(sampling) = profile.sampling() {
        writeln!(out, "# seen:  {}", sampled::busy_text(profile, sampling))?;
    }
    if let Some(host) = flat.host_nanos(&profile.symbols) {
        let share = 100.0 * host / flat.self_nanos.max(f64::MIN_POSITIVE);
        let guest = nanos_text((flat.self_nanos - host).max(0.0).round() as u64);
        writeln!(
            out,
            "# time:  {guest} in the guest, {} in the host's functions ({share:.1} %)",
            nanos_text(host.round() as u64)
        )?;
    }
    write!(
        out,
        "# calls: {} of {}, {}",
        grouped(profile.calls()),
        plural(flat.rows.len() as u64, "function"),
        plural(lanes.len() as u64, "lane"),
    )?;
    for (what, count) in health.cut_short() {
        write!(out, ", {} {what}", grouped(count))?;
    }
    if profile.hidden_calls > 0 {
        write!(out, "; {} left out", grouped(profile.hidden_calls))?;
    }
    writeln!(out)?;
    let counted: Vec<&Row> = flat.rows.iter().filter(|row| row.is_counted).collect();
    if !counted.is_empty() {
        let calls = grouped(counted.iter().map(|row| row.calls).sum());
        let functions = plural(counted.len() as u64, "function");
        writeln!(out, "# of which {calls} counted only, of {functions}: the time is in that of the callers")?;
    }
    Ok(())
}

/// Titles of columns, and what a row has in them.
pub type Columns<'a> = (&'a [&'a str], &'a dyn Fn(&Row) -> Vec<String>);

/// Writes the first `limit` rows (all for 0), and how many are left out. `more` are columns before that of the longest
/// call: their titles, and what is in them.
pub fn write_rows_with(
    symbols: &Symbols,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    (titles, more): Columns<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let header = ["self %", "self", "total", "calls", "avg", "min"].iter().chain(titles);
    let header: Vec<&str> = header.chain(&["max", "function", "callers"]).copied().collect();
    let cells = |row: &Row| {
        let known = |text: String| if row.is_counted { "-".to_owned() } else { text };
        let time = |nanos: f64| known(nanos_text(nanos.round() as u64));
        let mut cells = vec![
            known(format!("{:.1}", 100.0 * row.share)),
            time(row.self_nanos),
            time(row.total_nanos),
            grouped(row.calls),
            known(fine_text(row.average_nanos)),
            time(row.min_nanos),
        ];
        cells.extend(more(row).into_iter().map(known));
        cells.extend([
            time(row.max_nanos),
            name_text(symbols.label(row.func), NAME, options),
            callers_text(symbols, &row.callers, options),
        ]);
        cells
    };
    write_table(&header, NUMBERS + titles.len(), rows, limit, cells, out)
}

/// Writes the first `limit` rows (all for 0) under these titles, the first `numbers` of which are of numbers, and how many
/// rows are left out.
fn write_table(
    titles: &[&str],
    numbers: usize,
    rows: &[&Row],
    limit: usize,
    cells: impl Fn(&Row) -> Vec<String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = if limit == 0 { rows } else { rows.get(..limit).unwrap_or(rows) };
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(titles);
    for row in shown {
        table.add_row(cells(row));
    }
    for (n, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if n < numbers {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    match rows.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(out, "# and {}", plural(more as u64, "more function")),
    }
}

/// The same without more columns, or with those that fit a profile that was sampled.
pub fn write_rows(
    profile: &Profile,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let symbols = &profile.symbols;
    match profile.sampling() {
        Some(sampling) => sampled::write_rows(symbols, sampling, rows, limit, options, out),
        None => write_rows_with(symbols, rows, limit, options, (&[], &|_| Vec::new()), out),
    }
}

/// What a clock is, and how fine.
pub fn clock_text(header: &Header) -> String {
    let clock = &header.clock;
    let source = printable(&clock.source);
    match (clock.kind, clock.period_nanos) {
        (ClockKind::Precise, _) => {
            format!("precise ({source}), resolution {}", fine_text(clock.resolution_nanos))
        }
        (ClockKind::Ticker, Some(period)) => {
            format!("ticker ({source}), one tick in {}: times are those of a sampler", nanos_text(period))
        }
        (ClockKind::Ticker, None) => format!("ticker ({source}): times are those of a sampler"),
    }
}

/// Who ran the guest, on what.
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

/// A number with its digits in groups: `2,000,501`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 lane`, `2 lanes`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A duration of which the fractions of a nanosecond matter.
pub fn fine_text(nanos: f64) -> String {
    if nanos < 999.95 { format!("{nanos:.1} ns") } else { nanos_text(nanos.round() as u64) }
}

/// The caller with the most calls, and how many others there are.
fn callers_text(symbols: &Symbols, callers: &[Caller], options: TableOptions) -> String {
    match callers {
        [] => String::new(),
        [only] => name_text(symbols.label(only.func), CALLER, options),
        [first, others @ ..] => {
            format!("{} +{}", name_text(symbols.label(first.func), CALLER, options), others.len())
        }
    }
}

/// A name with its middle left out, if it is too long: both ends say more.
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
    use kperf_trace::{ClockInfo, HostInfo};

    #[test]
    fn digits_stand_in_groups() {
        let texts = [0, 999, 1_000, 2_000_501, u64::MAX].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "2,000,501", "18,446,744,073,709,551,615"]);
        assert_eq!([plural(1, "lane"), plural(1_000, "lane")], ["1 lane", "1,000 lanes"]);
    }

    #[test]
    fn long_names_lose_their_middle() {
        let short = TableOptions::default();
        assert_eq!(name_text("x".repeat(10), 10, short), "xxxxxxxxxx");
        assert_eq!(name_text("äbcdefghijk".to_owned(), 10, short), "äbcd..hijk");
        assert_eq!(name_text("abcdefghijk".to_owned(), 10, TableOptions { full_names: true }), "abcdefghijk");
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
    fn clock_and_host_are_said_as_far_as_they_are_known() {
        let mut header = Header::default();
        assert_eq!(
            (clock_text(&header), host_text(&header)),
            ("precise (unknown), resolution 1.0 ns".into(), "unknown".into())
        );
        header.clock = ClockInfo {
            kind: ClockKind::Ticker,
            source: "tsc".into(),
            period_nanos: Some(2_000),
            ..ClockInfo::default()
        };
        header.host = HostInfo { name: "node".into(), os: "linux".into(), ..HostInfo::default() };
        let clock = "ticker (tsc), one tick in 2.000 us: times are those of a sampler";
        assert_eq!((clock_text(&header), host_text(&header)), (clock.into(), "node on linux".into()));
    }
}
