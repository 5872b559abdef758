//! Which lines the instructions of functions come from: the rows of line programs.

use super::units::LineProgram;
use super::{Debug, Layout, Paths, Problem};
use kperf_abi::Source;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many rows a module has at most: 100 MB of debug information have some four million.
const MAX_ROWS: usize = 1 << 23;

/// The instructions of a body, from an offset on, come from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyRow {
    /// Number of the defined function.
    pub(crate) body: u32,
    /// In its body.
    pub(crate) offset: u32,
    /// The line is 0 where only the file is known.
    pub(crate) source: Option<Source>,
}

/// The rows of a line program that are of bodies, as it has them.
pub(super) struct Program {
    /// The unit whose files are meant.
    pub(super) unit: usize,
    pub(super) rows: Vec<Raw>,
    pub(super) problem: Option<Problem>,
}

/// A row with the number that its file has in the program.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    pub(super) body: u32,
    pub(super) offset: u32,
    pub(super) file: u64,
    pub(super) line: u32,
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
            programs.iter_mut().for_each(|program| program.rows = Vec::new());
        }
        programs
    }

    fn rows_of(&self, unit: usize, program: &LineProgram<'a>, room: &AtomicUsize) -> Program {
        let mut found = Vec::new();
        let mut finder = Finder { layout: self.layout, last: None };
        let mut rows = program.clone().rows();
        let mut last: Option<Raw> = None;
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
            let raw = Raw { body, offset, file: row.file_index(), line };
            if last.is_some_and(|last| (last.body, last.file, last.line) == (body, raw.file, line)) {
                continue;
            }
            last = Some(raw);
            if room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(1)).is_err() {
                break Some(Problem::ManyLines);
            }
            found.push(raw);
        };
        Program { unit, rows: found, problem }
    }

    /// The rows with the files' paths, in the order of bodies and offsets.
    pub(super) fn named(
        programs: &[Program],
        paths: &mut Paths<'_, '_, '_>,
        files: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> Vec<BodyRow> {
        let mut named = Vec::with_capacity(programs.iter().map(|program| program.rows.len()).sum());
        for program in programs {
            let mut last = None;
            for &Raw { body, offset, file, line } in &program.rows {
                let number = match last {
                    Some((known, number)) if known == file => number,
                    _ => paths.file(program.unit, file, files).unwrap_or_else(|problem| {
                        problems.push(problem);
                        None
                    }),
                };
                last = Some((file, number));
                let source = number.map(|file| Source { file, line });
                named.push(BodyRow { body, offset, source });
            }
        }
        in_order(&mut named);
        named
    }
}

/// Puts rows in their order. Of several of one offset the last holds; a row that repeats the one before it says nothing.
pub(super) fn in_order(rows: &mut Vec<BodyRow>) {
    rows.sort_by_key(|row| (row.body, row.offset));
    // `dedup_by` gives the later one first, and removes that.
    rows.dedup_by(|later, row| {
        let same = (later.body, later.offset) == (row.body, row.offset);
        if same {
            row.source = later.source;
        }
        same
    });
    rows.dedup_by(|later, row| (later.body, later.source) == (row.body, row.source));
    rows.shrink_to_fit();
}
