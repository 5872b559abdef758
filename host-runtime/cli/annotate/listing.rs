//! The lines of a function in its source files.

use super::source::Source;
use super::{Listed, TITLES, figures, source};
use crate::shared::table::grouped;
use kperf_abi::FuncId;
use kperf_profile::{LineRow, Row, SourcePlace, printable};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// The figures of a line.
#[derive(Clone, Copy, Default)]
struct Sums {
    self_nanos: Option<f64>,
    calls: u64,
    took: f64,
}

type Figures = BTreeMap<u32, Sums>;

/// Writes the function's lines. Returns a hint about the source; or, if nothing was written, why there are no lines or no source.
pub(super) fn write(
    listed: &Listed<'_>,
    row: &Row,
    folders: &[PathBuf],
    out: &mut impl Write,
) -> io::Result<Result<Option<String>, String>> {
    let files = by_file(listed, row.func);
    let Some((first, _)) = files.first() else {
        return Ok(Err("the trace has no lines of the function".to_owned()));
    };
    let texts: Vec<Option<Source>> = files.iter().map(|(file, _)| source::read(file, folders)).collect();
    if texts.iter().all(Option::is_none) {
        return Ok(Err(format!(
            "there is no source file `{}`; give its folder with --source",
            printable(first)
        )));
    }
    let declared = listed.profile.symbols.source(row.func);
    for ((file, figures), text) in files.iter().zip(&texts) {
        let declared = declared.filter(|(source, line)| source == file && *line > 0).map(|(_, line)| line);
        let lines = text.as_ref().map(|source| &*source.lines);
        write_file(listed, row, (file, declared), figures, lines, out)?;
    }
    write_rest(listed, row, out)?;
    let changed = |source: &Source| is_changed(listed, source);
    let changed = files.iter().zip(&texts).filter(|(_, text)| text.as_ref().is_some_and(changed));
    let changed: Vec<_> = changed.map(|((file, _), _)| format!("`{}`", printable(file))).collect();
    Ok(Ok((!changed.is_empty()).then(|| {
        format!(
            "{} changed after the trace was recorded: figures may be beside the wrong lines",
            changed.join(", ")
        )
    })))
}

/// Whether a file was changed since the recording began. Times of tests are no calendar's.
fn is_changed(listed: &Listed<'_>, source: &Source) -> bool {
    let header = &listed.profile.header;
    header.clock.source != "test" && source.changed.is_some_and(|changed| changed > header.anchor.unix_nanos)
}

/// Writes the figures of lines without their text.
pub(super) fn write_bare(listed: &Listed<'_>, row: &Row, out: &mut impl Write) -> io::Result<()> {
    for (file, figures) in by_file(listed, row.func) {
        write_file(listed, row, (&file, None), &figures, None, out)?;
    }
    write_rest(listed, row, out)
}

/// The lines by file: the function's own file first, then files of inlined code.
fn by_file(listed: &Listed<'_>, func: FuncId) -> Vec<(String, Figures)> {
    let mut files: Vec<(String, Figures)> = Vec::new();
    for row in &listed.lines.rows {
        if row.places.is_empty() {
            continue;
        }
        for place in &row.places {
            add(&mut files, place, row);
        }
    }
    let declared = listed.profile.symbols.source(func).filter(|(_, line)| *line > 0).map(|(file, _)| file);
    if let Some(file) = declared.filter(|_| files.is_empty()) {
        files.push((file.to_owned(), Figures::new()));
    }
    files.sort_by_key(|(file, _)| Some(file.as_str()) != declared);
    files
}

/// Adds a place, and the figures of the row if they are all of this place.
fn add(files: &mut Vec<(String, Figures)>, place: &SourcePlace, row: &LineRow) {
    let at = files.iter().position(|(file, _)| *file == place.file).unwrap_or_else(|| {
        files.push((place.file.clone(), Figures::new()));
        files.len() - 1
    });
    let Some((_, figures)) = files.get_mut(at) else { return };
    let sums = figures.entry(place.line).or_default();
    if row.places.len() == 1 && !row.or_unknown {
        sums.self_nanos =
            row.self_nanos.map(|nanos| nanos + sums.self_nanos.unwrap_or(0.0)).or(sums.self_nanos);
        sums.calls += row.calls;
        sums.took += row.total_nanos;
    }
}

fn write_file(
    listed: &Listed<'_>,
    row: &Row,
    (file, declared): (&str, Option<u32>),
    lines: &Figures,
    text: Option<&[String]>,
    out: &mut impl Write,
) -> io::Result<()> {
    let missing = if text.is_none() { " (no such file here)" } else { "" };
    writeln!(out, "{TITLES}    line  {}{missing}", printable(file))?;
    let last = text.map_or(0, |text| text.len() as u32);
    let mut shown = 0;
    for &line in declared.iter().chain(lines.keys()).collect::<std::collections::BTreeSet<_>>() {
        let (from, to) = match text {
            Some(_) if line <= last => {
                let from = line.saturating_sub(listed.context).max(1);
                (from.max(shown + 1), line.saturating_add(listed.context).min(last))
            }
            _ => (line, line),
        };
        if shown > 0 && from > shown + 1 {
            writeln!(out, "{:width$}     ...", "", width = TITLES.len())?;
        }
        for line in from..=to {
            let Sums { self_nanos, calls, took } = lines.get(&line).copied().unwrap_or_default();
            let text = text.and_then(|text| text.get(line as usize - 1)).map_or("", String::as_str);
            let text = text.replace('\t', "    ");
            let figures = figures(self_nanos, row.self_nanos, calls, took, listed.unit);
            writeln!(out, "{}", format!("{figures}  {line:>6}  {}", printable(&text)).trim_end())?;
        }
        shown = shown.max(to);
    }
    Ok(())
}

/// Writes figures that belong to no single line.
fn write_rest(listed: &Listed<'_>, row: &Row, out: &mut impl Write) -> io::Result<()> {
    let unit = listed.unit;
    for LineRow { places, self_nanos, calls, total_nanos, .. } in &listed.lines.rows {
        let took = unit.text(total_nanos.round() as u64);
        if let Some(nanos) = self_nanos.filter(|nanos| places.is_empty() && *nanos >= 1.0) {
            let (share, time) = (100.0 * nanos / row.self_nanos.max(1.0), unit.text(nanos.round() as u64));
            writeln!(out, "# {time} ({share:.1} %) in unknown lines")?;
        }
        if *calls > 0 && places.is_empty() {
            writeln!(out, "# {} calls that took {took} on unknown lines", grouped(*calls))?;
        }
    }
    write_inlined(listed, row, out)?;
    let is_one_of_several = |row: &&LineRow| row.places.len() + usize::from(row.or_unknown) > 1;
    for row in listed
        .lines
        .rows
        .iter()
        .filter(|row| row.calls > 0 && !row.places.is_empty())
        .filter(is_one_of_several)
    {
        let took = unit.text(row.total_nanos.round() as u64);
        writeln!(
            out,
            "# {} calls that took {took} on one of {}",
            grouped(row.calls),
            printable(&row.text())
        )?;
    }
    Ok(())
}

/// Writes the function's time in inlined calls.
fn write_inlined(listed: &Listed<'_>, row: &Row, out: &mut impl Write) -> io::Result<()> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for line in &listed.lines.rows {
        if let ([way], Some(nanos)) = (&line.inlined[..], line.self_nanos) {
            *sums.entry(way).or_default() += nanos;
        }
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().filter(|(_, nanos)| *nanos >= 1.0).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (way, nanos) in sums {
        let (share, time) = (100.0 * nanos / row.self_nanos.max(1.0), listed.unit.text(nanos.round() as u64));
        writeln!(out, "# {time} ({share:.1} %) in {way}, inlined here")?;
    }
    Ok(())
}
