//! Places and lines of functions, from the module's DWARF or source map.

mod debug;
mod inlined;
mod paths;
mod problem;
mod rows;
pub(crate) mod units;

use crate::debug_info::source_map::SourceMap;
use crate::module::info::{BodyPlace, ModuleInfo};
use crate::warning::Warning;
use debug::Debug;
pub(crate) use debug::Layout;
use gimli::{AttributeValue, Dwarf, LittleEndian, UnitOffset};
use inlined::{Bodies, Room, UnitCalls};
use kperf_abi::{Inlined, InlinedFunction, Row, Source};
use paths::Paths;
pub(crate) use problem::Problem;
use rayon::prelude::*;
use rows::{Program, Rows};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use units::Budget;
pub(crate) use units::{Bytes, Unit, Units};

/// How many DIEs are followed to the declaration of a function.
const MAX_HOPS: u32 = 8;

/// The places and lines of functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The files' paths, each once.
    pub(crate) files: Vec<String>,
    /// By the number of the defined function.
    by_body: HashMap<usize, Source>,
    /// Which lines the instructions come from.
    rows: Rows,
    /// What is inlined in each body.
    inlined: Bodies,
    inlined_functions: Vec<InlinedFunction>,
}

impl Sources {
    /// Reads the module's DWARF, if it has any. A malformed part costs its places, and a warning.
    pub(crate) fn of(info: &ModuleInfo<'_>, warnings: &mut Vec<Warning>) -> Sources {
        let Some(code) = info.code() else { return Sources::default() };
        let layout = Layout { code: code.start as u64, bodies: &info.bodies };
        let section = |name: &str| info.custom_section(name).map_or(&[][..], |(data, _)| data);
        let (sources, problem) = Sources::read(layout, section);
        // The pass that moves DWARF warns of split DWARF.
        let problem = problem.filter(|problem| !matches!(problem, Problem::Split));
        warnings.extend(problem.map(|problem| Warning::BadDebugInfo { message: problem.to_string() }));
        sources
    }

    /// Reads the sections of DWARF, and returns the first problem. Time and memory are linear in the
    /// sections' size, for any content.
    pub(crate) fn read<'a>(
        layout: Layout<'_>,
        mut section: impl FnMut(&str) -> &'a [u8],
    ) -> (Sources, Option<Problem>) {
        let section =
            |id: gimli::SectionId| Ok::<_, Infallible>(Bytes::new(section(id.name()), LittleEndian));
        let Ok(dwarf) = Dwarf::load(section);
        let mut problems = Vec::new();
        let units = Units::read(&dwarf, &mut problems);
        if units.units.iter().any(|unit| unit.is_split) {
            problems.push(Problem::Split);
        }
        let debug = Debug { layout, dwarf, units };
        let mut sources = debug.sources(&mut problems);
        sources.files.shrink_to_fit();
        (sources, problems.first().copied())
    }

    /// The places of a source map.
    pub(crate) fn of_map(map: &SourceMap, bodies: &[BodyPlace]) -> Sources {
        let place = |(n, body): (usize, &BodyPlace)| {
            let (file, line) = map.place(body.start.into()..body.end.into())?;
            Some((n, Source { file, line }))
        };
        let rows = bodies.iter().zip(0..).flat_map(|(body, n)| {
            map.rows(body.start.into()..body.end.into()).map(move |(offset, place)| {
                let source = place.map(|(file, line)| Source { file, line });
                (n, Row { offset: offset as u32, source })
            })
        });
        let rows = Rows::of_rows(rows);
        let by_body = bodies.iter().enumerate().filter_map(place).collect();
        Sources { files: map.files().to_vec(), by_body, rows, ..Sources::default() }
    }

    /// Whether it knows which lines instructions come from.
    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Which lines the instructions of the n-th defined function come from, in the order of their offsets.
    pub(crate) fn rows(&self, n: usize) -> Vec<Row> {
        u32::try_from(n).map_or_else(|_| Vec::new(), |n| self.rows.of(n))
    }

    /// What is inlined in the n-th defined function.
    pub(crate) fn inlined(&self, n: usize) -> Inlined {
        self.inlined.get(n as u32)
    }

    /// The functions that are inlined.
    pub(crate) fn inlined_functions(&self) -> &[InlinedFunction] {
        &self.inlined_functions
    }

    pub(crate) fn take_inlined_functions(&mut self) -> Vec<InlinedFunction> {
        std::mem::take(&mut self.inlined_functions)
    }

    /// The place of the n-th defined function, if it is known.
    pub(crate) fn get(&self, n: usize) -> Option<Source> {
        self.by_body.get(&n).copied()
    }
}

/// The place of a function: the number of a unit's file, and a line.
#[derive(Clone, Copy)]
struct FunctionPlace {
    /// Of the defined functions.
    body: usize,
    /// Number of the unit; `file` is a number in its list.
    unit: usize,
    file: u64,
    line: u32,
}

impl<'a> Debug<'_, 'a> {
    /// The places of functions: their declarations or, where no unit of a line program has these, the line program's first lines.
    fn sources(&self, problems: &mut Vec<Problem>) -> Sources {
        let units = &self.units.units;
        let room = Room::of(self);
        let read = (0..units.len()).into_par_iter().map(|n| self.declared(n, &room));
        let read: Vec<_> = read.collect();
        let mut declared = Vec::with_capacity(read.len());
        let mut inlined = Vec::new();
        for (n, (places, calls, problem)) in read.into_iter().enumerate() {
            declared.push((places, problem));
            inlined.extend((!calls.is_empty()).then_some((n, calls)));
        }
        let mut said = HashSet::new();
        let mut first_unit: HashMap<usize, usize> = HashMap::new();
        for (n, (unit, (places, _))) in units.iter().zip(&declared).enumerate() {
            let Some(program) = unit.program.map(|program| program as usize) else { continue };
            if self.units.programs[program].is_ok() {
                first_unit.entry(program).or_insert(n);
            }
            if !places.is_empty() {
                said.insert(program);
            }
        }
        // Before the rows of line programs are there, of which there are millions.
        let mut paths = Paths::new(self);
        let mut sources = Sources::default();
        (sources.inlined, sources.inlined_functions) =
            self.inlined(inlined, &mut paths, &mut sources.files, problems);
        let mut first_units: Vec<(usize, usize)> = first_unit.into_iter().collect();
        first_units.sort_unstable();
        let programs = self.programs(&first_units);
        problems.extend(programs.iter().filter_map(|program| program.problem));
        let unsaid = first_units.iter().zip(&programs).filter(|((program, _), _)| !said.contains(program));
        let by_lines: Vec<_> = unsaid.map(|(_, program)| (first_lines(program), None)).collect();
        for (places, problem) in declared.into_iter().chain(by_lines) {
            problems.extend(problem);
            for place in places {
                match paths.file(place.unit, place.file, &mut sources.files) {
                    Ok(Some(file)) => {
                        sources.by_body.entry(place.body).or_insert(Source { file, line: place.line });
                    }
                    Ok(None) => {}
                    Err(problem) => problems.push(problem),
                }
            }
        }
        sources.rows = Rows::named(programs, &mut paths, &mut sources.files, problems);
        sources
    }

    /// The functions of the n-th unit, and what is inlined in them; with a problem those before it.
    fn declared(&self, n: usize, room: &Room) -> (Vec<FunctionPlace>, UnitCalls, Option<Problem>) {
        let (mut places, mut calls) = (Vec::new(), UnitCalls::default());
        let problem = self.read_declared(n, &mut places, &mut calls, room).err();
        (places, calls, problem)
    }

    fn read_declared(
        &self,
        n: usize,
        places: &mut Vec<FunctionPlace>,
        calls: &mut UnitCalls,
        room: &Room,
    ) -> Result<(), Problem> {
        let unit = &self.units.units[n];
        let mut budget = self.units.budget(unit);
        let mut entries = unit.header.entries_raw(self.units.abbreviations(unit), None)?;
        let mut inlined_problem = None;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            budget.spend(abbreviation.attributes().len())?;
            entries.skip_attributes(abbreviation.attributes())?;
            calls.leave(depth);
            if abbreviation.tag() == gimli::DW_TAG_inlined_subroutine {
                let entry = self.units.entry(unit, offset, &mut budget)?;
                match calls.add(self, (n, depth), &entry, &mut budget, room) {
                    // Places are known all the same.
                    Err(problem @ Problem::ManyInlined) => inlined_problem = Some(problem),
                    result => result?,
                }
                continue;
            }
            if abbreviation.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let entry = self.units.entry(unit, offset, &mut budget)?;
            let Some(low) = entry.low_pc else { continue };
            let Some(body) = self.address(unit, low)?.and_then(|address| self.layout.body_at(address)) else {
                continue;
            };
            if let Some((unit, file, line)) = self.declaration(n, offset, &mut budget)? {
                places.push(FunctionPlace { body, unit, file, line });
            }
        }
        inlined_problem.map_or(Ok(()), Err)
    }

    /// The declaration of a DIE or of its origin: the unit that numbers its files, the file's number, the line.
    fn declaration(
        &self,
        unit: usize,
        offset: UnitOffset,
        budget: &mut Budget,
    ) -> Result<Option<(usize, u64, u32)>, Problem> {
        let (mut unit, mut offset) = (unit, offset);
        for _ in 0..MAX_HOPS {
            let entry = self.units.entry(&self.units.units[unit], offset, budget)?;
            if let (Some(file), Some(line)) = (entry.file, entry.line) {
                return Ok(Some((unit, file, line)));
            }
            match entry.origin {
                Some(AttributeValue::UnitRef(to)) => offset = to,
                Some(AttributeValue::DebugInfoRef(to)) => match self.units.unit_of(to) {
                    Some((other, to)) => (unit, offset) = (other, to),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// The first line of each body that a line program knows.
fn first_lines(program: &Program) -> Vec<FunctionPlace> {
    let place = |(body, file, line)| FunctionPlace { body: body as usize, unit: program.unit, file, line };
    program.first_lines().into_iter().map(place).collect()
}
