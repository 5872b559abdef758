//! The lines of instructions: rows of line programs.
//!
//! Large modules have millions of them, so they are packed: three or four bytes each instead of twenty.

use super::debug::{Debug, Layout};
use super::paths::Paths;
use super::problem::Problem;
use super::units::LineProgram;
use kperf_abi::{Row, Source, leb128};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most rows of a module: 100 MB of debug information have some four million.
const MAX_ROWS: usize = 1 << 23;
/// The file of a row of which no file is known.
const NO_FILE: u64 = u64::MAX;

/// The rows of all bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    bytes: Vec<u8>,
    /// In the order of bodies. Pieces of one body are in the order in which programs have them.
    pieces: Vec<Piece>,
    /// The numbers of source files, by the number of the program and its own number of the file. In the order of these.
    files: Vec<((u32, u64), u32)>,
}

/// Rows that follow each other, of one body.
#[derive(Clone, Copy, Debug)]
struct Piece {
    body: u32,
    program: u32,
    /// Where its bytes begin, which say how many rows it has.
    start: usize,
}

/// The rows of a line program that are of bodies.
#[derive(Default)]
pub(super) struct Program {
    /// The unit that numbers its files.
    pub(super) unit: usize,
    packed: Packer,
    pub(super) problem: Option<Problem>,
}

/// A row with the number that its file has in the program.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    pub(super) offset: u32,
    pub(super) file: u64,
    pub(super) line: u32,
}

impl Rows {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The rows of a body, in the order of their offsets.
    pub(super) fn of(&self, body: u32) -> Vec<Row> {
        let from = self.pieces.partition_point(|piece| piece.body < body);
        let to = self.pieces.partition_point(|piece| piece.body <= body);
        let mut rows = Vec::new();
        for piece in self.pieces.get(from..to).unwrap_or_default() {
            let number = |file: u64| {
                let at = self.files.binary_search_by_key(&(piece.program, file), |(key, _)| *key).ok()?;
                Some(self.files.get(at)?.1)
            };
            let mut last = None;
            for Raw { offset, file, line } in unpacked(&self.bytes, piece.start) {
                let known = match last {
                    Some((before, number)) if before == file => number,
                    _ => number(file),
                };
                last = Some((file, known));
                rows.push(Row { offset, source: known.map(|file| Source { file, line }) });
            }
        }
        in_order(&mut rows);
        rows
    }

    /// Concatenates the rows of programs. `number` returns the numbers of their files.
    fn join(packed: Vec<Packer>, mut number: impl FnMut(usize, u64) -> Option<u32>) -> Rows {
        let mut rows = Rows::default();
        rows.bytes.reserve_exact(packed.iter().map(|packed| packed.bytes.len()).sum());
        rows.pieces.reserve_exact(packed.iter().map(|packed| packed.pieces.len()).sum());
        for (n, Packer { bytes, pieces, files, .. }) in packed.into_iter().enumerate() {
            let (start, program) = (rows.bytes.len(), n as u32);
            rows.bytes.extend_from_slice(&bytes);
            let moved = |(body, at)| Piece { body, program, start: start + at };
            rows.pieces.extend(pieces.into_iter().map(moved));
            let known = files.into_iter().filter_map(|file| Some(((program, file), number(n, file)?)));
            rows.files.extend(known);
        }
        rows.pieces.sort_by_key(|piece| piece.body);
        rows.files.shrink_to_fit();
        rows
    }

    /// The rows with the files' paths.
    pub(super) fn named(
        programs: Vec<Program>,
        paths: &mut Paths<'_, '_, '_>,
        files: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> Rows {
        let units: Vec<usize> = programs.iter().map(|program| program.unit).collect();
        let packed = programs.into_iter().map(|program| program.packed).collect();
        Rows::join(packed, |n, file| {
            paths.file(*units.get(n)?, file, files).unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        })
    }

    /// Packs rows from elsewhere, in the order of bodies.
    pub(super) fn of_rows(rows: impl Iterator<Item = (u32, Row)>) -> Rows {
        let mut packed = Packer::default();
        for (body, Row { offset, source }) in rows {
            let (file, line) = source.map_or((NO_FILE, 0), |source| (source.file.into(), source.line));
            packed.add(body, Raw { offset, file, line });
        }
        packed.end();
        Rows::join(vec![packed], |_, file| u32::try_from(file).ok())
    }
}

/// Packs rows.
#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
    /// Bodies, and where the bytes of their pieces begin.
    pieces: Vec<(u32, usize)>,
    /// The files, each once and in their order when all is packed.
    files: Vec<u64>,
    most_files: usize,
    /// What is not packed yet: rows of one body.
    open: Vec<Raw>,
    body: u32,
}

impl Packer {
    fn add(&mut self, body: u32, row: Raw) {
        if self.body != body {
            self.flush();
            self.body = body;
        }
        self.open.push(row);
    }

    fn flush(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.pieces.push((self.body, self.bytes.len()));
        let out = &mut self.bytes;
        leb128::write(out, self.open.len() as u64);
        let mut last = Raw { offset: 0, file: 0, line: 0 };
        for row in self.open.drain(..) {
            // Offsets mostly grow, files mostly stay.
            let step = zigzag(i64::from(row.offset) - i64::from(last.offset));
            leb128::write(out, step << 1 | u64::from(row.file != last.file));
            if row.file != last.file {
                leb128::write(out, row.file);
            }
            leb128::write(out, zigzag(i64::from(row.line) - i64::from(last.line)));
            if self.files.last() != Some(&row.file) {
                self.files.push(row.file);
            }
            last = row;
        }
        if self.files.len() > self.most_files {
            self.sort_files();
        }
    }

    fn sort_files(&mut self) {
        self.files.sort_unstable();
        self.files.dedup();
        // Not again before there are twice as many.
        self.most_files = (2 * self.files.len()).max(1 << 12);
    }

    fn end(&mut self) {
        self.flush();
        self.sort_files();
        self.files.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.open = Vec::new();
    }
}

/// The rows of a piece.
fn unpacked(bytes: &[u8], start: usize) -> impl Iterator<Item = Raw> + '_ {
    let mut bytes = bytes.get(start..).unwrap_or_default();
    let rows = leb128::read(&mut bytes).unwrap_or(0);
    let mut last = Raw { offset: 0, file: 0, line: 0 };
    (0..rows).map_while(move |_| {
        let step = leb128::read(&mut bytes)?;
        let add = |number: u32, more: u64| u32::try_from(i64::from(number) + unzigzag(more)).ok();
        last.offset = add(last.offset, step >> 1)?;
        if step & 1 == 1 {
            last.file = leb128::read(&mut bytes)?;
        }
        last.line = add(last.line, leb128::read(&mut bytes)?)?;
        Some(last)
    })
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Finds bodies by addresses that mostly follow each other.
struct Finder<'i> {
    layout: Layout<'i>,
    last: Option<usize>,
}

impl Finder<'_> {
    /// The body, and the offset in it.
    fn find(&mut self, address: u64) -> Option<(u32, u32)> {
        let at = self.layout.code.checked_add(address)?;
        let is_in = |n: usize| {
            let body = self.layout.bodies.get(n);
            body.is_some_and(|body| (u64::from(body.start)..u64::from(body.end)).contains(&at))
        };
        if !self.last.is_some_and(is_in) {
            self.last = self.layout.body_at(address);
        }
        let n = self.last?;
        let start = self.layout.bodies.get(n)?.start;
        Some((n as u32, at.saturating_sub(start.into()) as u32))
    }
}

impl Program {
    /// The first line of each body, in the order of bodies: the file's number in the program, and the line.
    pub(super) fn first_lines(&self) -> Vec<(u32, u64, u32)> {
        let mut first: HashMap<u32, (u32, u64, u32)> = HashMap::new();
        for &(body, start) in &self.packed.pieces {
            for row in unpacked(&self.packed.bytes, start).filter(|row| row.line > 0) {
                let here = (row.offset, row.file, row.line);
                first.entry(body).and_modify(|first| *first = here.min(*first)).or_insert(here);
            }
        }
        let mut lines: Vec<_> = first.into_iter().map(|(body, (_, file, line))| (body, file, line)).collect();
        lines.sort_unstable_by_key(|(body, ..)| *body);
        lines
    }
}

impl<'a> Debug<'_, 'a> {
    /// The rows of all line programs that a unit names, each program once.
    pub(super) fn programs(&self, first_units: &[(usize, usize)]) -> Vec<Program> {
        let room = AtomicUsize::new(MAX_ROWS);
        let programs = first_units.par_iter().filter_map(|&(program, unit)| {
            let program = self.units.programs[program].as_ref().ok()?;
            Some(self.rows_of(unit, program, &room))
        });
        let mut programs: Vec<Program> = programs.collect();
        if programs.iter().any(|program| matches!(program.problem, Some(Problem::ManyLines))) {
            // Whichever were read before the room was used up.
            programs.iter_mut().for_each(|program| program.packed = Packer::default());
        }
        programs
    }

    fn rows_of(&self, unit: usize, program: &LineProgram<'a>, room: &AtomicUsize) -> Program {
        let mut packed = Packer::default();
        let mut finder = Finder { layout: self.layout, last: None };
        let mut rows = program.clone().rows();
        let mut last = None;
        let problem = loop {
            let row = match rows.next_row() {
                Ok(Some((_, row))) => row,
                Ok(None) => break None,
                Err(error) => break Some(error.into()),
            };
            if row.end_sequence() {
                last = None;
                continue;
            }
            let line = row.line().map_or(Some(0), |line| u32::try_from(line.get()).ok());
            let (Some(line), Some((body, offset))) = (line, finder.find(row.address())) else { continue };
            let file = row.file_index();
            if last == Some((body, file, line)) {
                continue;
            }
            last = Some((body, file, line));
            if room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(1)).is_err() {
                break Some(Problem::ManyLines);
            }
            packed.add(body, Raw { offset, file, line });
        };
        packed.end();
        Program { unit, packed, problem }
    }
}

/// Puts rows in their order. Of several of one offset the last holds; a row that repeats the one before it says nothing.
fn in_order(rows: &mut Vec<Row>) {
    rows.sort_by_key(|row| row.offset);
    // `dedup_by` gives the later one first, and removes that.
    rows.dedup_by(|later, row| {
        let same = later.offset == row.offset;
        if same {
            row.source = later.source;
        }
        same
    });
    rows.dedup_by(|later, row| later.source == row.source);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(offset: u32, place: Option<(u32, u32)>) -> Row {
        Row { offset, source: place.map(|(file, line)| Source { file, line }) }
    }

    #[test]
    fn rows_are_what_was_packed() {
        let given = [
            (3, row(9, Some((1, 70)))),
            (3, row(4, Some((u32::MAX, 0)))),
            (5, row(u32::MAX, Some((1, u32::MAX)))),
            (3, row(4, None)),
            (3, row(12, None)),
            (3, row(300, Some((0, 7)))),
            (3, row(400, Some((0, 7)))),
        ];
        let rows = Rows::of_rows(given.into_iter());
        assert_eq!(rows.of(5), [row(u32::MAX, Some((1, u32::MAX)))]);
        let expected = [row(4, None), row(9, Some((1, 70))), row(12, None), row(300, Some((0, 7)))];
        assert_eq!(rows.of(3), expected);
        assert_eq!((rows.of(4), rows.is_empty(), Rows::default().is_empty()), (Vec::new(), false, true));
    }
}
