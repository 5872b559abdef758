//! The flat profile as a table, for `report` and for the end of `run`.

pub mod color;
pub mod fit;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use fit::{Shown, Texts};
use kperf_profile::{Accuracy, FlatProfile, Profile, Row, RowTexts, Unit, shortened, usual_rows};
use std::io::{self, Write};

pub use kperf_profile::{grouped, host_text, plural, write_head};

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

/// How wide a terminal is that has room for bars.
const WITH_BARS: usize = 60;

/// Writes the lines above the table and its usual functions, at most `most`, the ones with the most self time first.
pub fn print_top(profile: &Profile, most: usize, shown: Shown, mut out: impl Write) -> io::Result<()> {
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let rows: Vec<&Row> = flat.rows.iter().collect();
    write_head(profile, &flat, false, &mut out)?;
    let accuracy = Accuracy::of(profile, flat.self_nanos);
    let options = TableOptions { unit: Unit::of(&profile.header), shown, ..TableOptions::default() };
    write_rows(profile, &accuracy, &rows, usual_rows(profile, &rows).min(most), options, &mut out)
}

/// The titles of columns, and a function that gives the cells of a row.
pub type Columns<'a> = (&'a [&'static str], &'a dyn Fn(&Row) -> Vec<String>);

/// Writes the first `limit` rows (all for 0), and how many are left out. `more` are additional columns of a trace, before the column of
/// the longest call.
pub fn write_rows_with(
    texts: RowTexts<'_>,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    (titles, more): Columns<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let texts = RowTexts { full_names: options.full_names, ..texts };
    let (header, numbers) = texts.titles(titles);
    write_table(&header, numbers, (rows, limit), options, |row| texts.cells(row, more(row)), out)
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

/// [`write_rows_with`] without additional columns.
pub fn write_rows(
    profile: &Profile,
    accuracy: &Accuracy,
    rows: &[&Row],
    limit: usize,
    options: TableOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let texts = RowTexts::new(profile, accuracy);
    write_rows_with(texts, rows, limit, options, (&[], &|_| Vec::new()), out)
}

/// A duration in which fractions of a nanosecond matter.
pub fn fine_text(nanos: f64) -> String {
    Unit::Time.fine_text(nanos)
}

/// A name; if it is too long, the middle is left out.
pub fn name_text(name: String, limit: usize, options: TableOptions) -> String {
    if options.full_names { name } else { shortened(name, limit) }
}
