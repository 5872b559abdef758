//! Inlined calls, by `DW_TAG_inlined_subroutine`.
//!
//! Each unit is read by itself. A call has ranges of instructions and lies within the call that it is inlined in. The
//! functions are read later, each once, as thousands of calls may have the same.

mod names;
mod room;

use super::debug::Debug;
use super::paths::Paths;
use super::problem::Problem;
use super::units::{self, Budget};
use gimli::{AttributeValue, DebugInfoOffset, RangeListsOffset, Section as _, UnitOffset};
use kperf_abi::{Inlined, InlinedCall, InlinedFunction, MAX_INLINED, Region, Source};
use names::{Function, Said, read_names};
use rayon::prelude::*;
pub(super) use room::Room;
use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex};

/// How many entries are followed to the name of a function.
const MAX_HOPS: u32 = 8;

/// The calls of a unit.
#[derive(Default)]
pub(super) struct UnitCalls {
    /// Callers before what is inlined in them.
    calls: Vec<Call>,
    ranges: Vec<Range>,
    /// The calls that are being read: how deep their entries are, and their numbers.
    open: Vec<(isize, u32)>,
}

/// There may be millions, so what isn't known is [`NONE`] rather than an `Option` of eight bytes.
struct Call {
    caller: u32,
    /// The entry of the function, as [`Units::unit_of`](units::Units::unit_of) has it.
    function: u32,
    /// Where it is called: the file's number in the unit's line program, the line.
    file: u32,
    line: u32,
}

const NONE: u32 = u32::MAX;

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

/// Instructions of a call, as offsets in a body.
#[derive(Clone, Copy)]
struct Range {
    body: u32,
    start: u32,
    end: u32,
    /// A call has a larger number than the call in which it is inlined.
    call: u32,
}

/// What is inlined in each body, as symbol tables have it: it is a tenth of what it is in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodies {
    bytes: Vec<u8>,
    /// By the number of the defined function: where its bytes begin and end.
    places: HashMap<u32, (usize, usize)>,
}

impl Bodies {
    fn add(&mut self, body: u32, inlined: &Inlined) {
        if let (Entry::Vacant(place), false) = (self.places.entry(body), inlined.is_empty()) {
            let start = self.bytes.len();
            inlined.write(&mut self.bytes);
            place.insert((start, self.bytes.len()));
        }
    }

    pub(super) fn get(&self, body: u32) -> Inlined {
        let bytes = self.places.get(&body).and_then(|&(start, end)| self.bytes.get(start..end));
        bytes.map_or_else(Inlined::default, Inlined::from_bytes)
    }
}

impl UnitCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// An entry of another kind begins: calls that aren't around it have ended.
    pub(super) fn leave(&mut self, depth: isize) {
        while self.open.last().is_some_and(|&(open, _)| open >= depth) {
            self.open.pop();
        }
    }

    /// Reads an inlined call.
    pub(super) fn add<'a>(
        &mut self,
        debug: &Debug<'_, 'a>,
        (unit, depth): (usize, isize),
        entry: &units::Entry<'a>,
        budget: &mut Budget,
        room: &Room,
    ) -> Result<(), Problem> {
        if self.open.len() >= MAX_INLINED {
            // It is taken for a part of the call around it.
            return Ok(());
        }
        let at = debug.units.units[unit].at();
        let function = match entry.origin {
            Some(AttributeValue::UnitRef(to)) => Some(at.saturating_add(to.0)),
            Some(AttributeValue::DebugInfoRef(to)) => Some(to.0),
            _ => None,
        };
        room.take_one()?;
        let number = self.calls.len() as u32;
        let small =
            |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(NONE);
        self.calls.push(Call {
            caller: self.open.last().map_or(NONE, |&(_, call)| call),
            function: small(function.map(|entry| entry as u64)),
            file: small(Some(entry.call_file.unwrap_or(0))),
            line: entry.call_line.unwrap_or(NONE),
        });
        self.open.push((depth, number));
        let ranges = &mut self.ranges;
        debug.ranges(unit, entry, budget, |start, end| {
            if let Some((body, start, end)) = debug.in_body(start, end) {
                room.take_one()?;
                ranges.push(Range { body, start, end, call: number });
            }
            Ok(())
        })
    }
}

impl<'a> Debug<'_, 'a> {
    /// The instructions that a range of addresses has of a body: the body, and offsets in it.
    fn in_body(&self, start: u64, end: u64) -> Option<(u32, u32, u32)> {
        let n = self.layout.body_at(start)?;
        let body = self.layout.bodies.get(n)?;
        let offset = |address: u64| {
            let at = self.layout.code.saturating_add(address).min(body.end.into());
            at.saturating_sub(body.start.into()) as u32
        };
        let (start, end) = (offset(start), offset(end));
        (start < end).then_some((n as u32, start, end))
    }

    /// The ranges of addresses of an entry.
    fn ranges(
        &self,
        unit: usize,
        entry: &units::Entry<'a>,
        budget: &mut Budget,
        mut found: impl FnMut(u64, u64) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let unit = &self.units.units[unit];
        if let (Some(low), Some(high)) = (entry.low_pc, entry.high_pc) {
            let Some(low) = self.address(unit, low)? else { return Ok(()) };
            let high = match (self.address(unit, high)?, high.udata_value()) {
                (Some(high), _) => high,
                (None, Some(length)) => low.saturating_add(length),
                (None, None) => return Ok(()),
            };
            return found(low, high);
        }
        let encoding = unit.header.encoding();
        let dwarf = &self.dwarf;
        let offset = match entry.ranges {
            Some(AttributeValue::RangeListsRef(offset)) => RangeListsOffset(offset.0),
            Some(AttributeValue::DebugRngListsIndex(index))
                if index.0 < dwarf.ranges.debug_rnglists().reader().len() =>
            {
                dwarf.ranges.get_offset(encoding, unit.range_lists, index)?
            }
            _ => return Ok(()),
        };
        let mut ranges =
            dwarf.ranges.ranges(offset, encoding, unit.low_pc, &dwarf.debug_addr, unit.addresses)?;
        while let Some(range) = ranges.next()? {
            budget.spend(0)?;
            found(range.begin, range.end)?;
        }
        Ok(())
    }

    /// The name and place of an entry's function. Names are located, not read yet.
    fn function(&self, unit: usize, offset: UnitOffset, budget: &mut Budget) -> Result<Said<'a>, Problem> {
        let (mut unit, mut offset) = (unit, offset);
        let mut said = Said::default();
        for _ in 0..MAX_HOPS {
            let at = &self.units.units[unit];
            let entry = self.units.entry(at, offset, budget)?;
            let text = |value: Option<AttributeValue<_>>| match value {
                Some(value) => self.text(at, &value),
                None => Ok(None),
            };
            if let (None, Some(file), Some(line)) = (said.place, entry.file, entry.line) {
                said.place = Some((unit, file, line));
            }
            if said.plain.is_none() {
                said.plain = text(entry.name)?;
            }
            said.linkage = text(entry.linkage_name)?;
            (unit, offset) = match entry.origin {
                _ if said.linkage.is_some() => break,
                Some(AttributeValue::UnitRef(to)) => (unit, to),
                Some(AttributeValue::DebugInfoRef(to)) => match self.units.unit_of(to) {
                    Some(to) => to,
                    None => break,
                },
                _ => break,
            };
        }
        Ok(said)
    }

    /// The calls of all bodies, and the functions that they are of.
    pub(super) fn inlined(
        &self,
        units: Vec<(usize, UnitCalls)>,
        paths: &mut Paths<'_, '_, '_>,
        files: &mut Vec<String>,
        problems: &mut Vec<Problem>,
    ) -> (Bodies, Vec<InlinedFunction>) {
        let (read, more) = self.functions(&units);
        let too_many = [&*problems, &more].into_iter().flatten();
        // Whichever were read before the room was used up.
        if too_many.into_iter().any(|problem| matches!(problem, Problem::ManyInlined | Problem::LongNames)) {
            problems.extend(more);
            return Default::default();
        }
        problems.extend(more);
        let mut functions: Vec<InlinedFunction> = Vec::new();
        // By their hash: names are not there twice.
        let hasher = RandomState::new();
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut by_entry: HashMap<DebugInfoOffset, u32> = HashMap::new();
        for (entry, Function { name, place }) in read {
            let source = place.and_then(|(unit, file, line)| {
                let file = paths.file(unit, file, files).unwrap_or_else(|problem| {
                    problems.push(problem);
                    None
                });
                Some(Source { file: file?, line })
            });
            let function = InlinedFunction { name, source };
            let hash = hasher.hash_one(&function);
            let known = numbers.get(&hash).copied();
            // Two of one hash are rare: then one is there several times.
            let known = known.filter(|&number| functions.get(number as usize) == Some(&function));
            let number = known.unwrap_or_else(|| {
                functions.push(function);
                let number = functions.len() as u32 - 1;
                numbers.insert(hash, number);
                number
            });
            by_entry.insert(entry, number);
        }
        drop(numbers);
        let mut bodies = Bodies::default();
        for (unit, UnitCalls { calls, mut ranges, .. }) in units {
            ranges.sort_unstable_by_key(|range| (range.body, range.start, range.call));
            for ranges in ranges.chunk_by(|a, b| a.body == b.body) {
                let Some(body) = ranges.first().map(|range| range.body) else { continue };
                let inlined = used(&calls, regions(ranges), |call| {
                    let source = known(call.line).and_then(|line| {
                        let file = paths.file(unit, call.file.into(), files).ok().flatten()?;
                        Some(Source { file, line })
                    });
                    let entry = known(call.function).map(|entry| DebugInfoOffset(entry as usize));
                    (entry.and_then(|entry| by_entry.get(&entry).copied()), source)
                });
                // A body is of one unit.
                bodies.add(body, &inlined);
            }
        }
        bodies.bytes.shrink_to_fit();
        (bodies, functions)
    }

    /// The functions that calls are of, by their entries, in the order of these.
    fn functions(&self, units: &[(usize, UnitCalls)]) -> (Vec<(DebugInfoOffset, Function)>, Vec<Problem>) {
        let calls = units.iter().flat_map(|(_, unit)| &unit.calls);
        let entries = calls.filter_map(|call| known(call.function));
        let mut entries: Vec<DebugInfoOffset> =
            entries.map(|entry| DebugInfoOffset(entry as usize)).collect();
        entries.par_sort_unstable();
        entries.dedup();
        let placed = entries.into_iter().filter_map(|entry| Some((entry, self.units.unit_of(entry)?)));
        let placed: Vec<(DebugInfoOffset, (usize, UnitOffset))> = placed.collect();
        let room = Room::of_names(self);
        // Units repeat what they include.
        let names: Mutex<HashSet<Arc<str>>> = Mutex::default();
        let by_unit: Vec<_> = placed.chunk_by(|a, b| a.1.0 == b.1.0).collect();
        let read: Vec<_> = by_unit
            .into_par_iter()
            .map(|entries| {
                let Some(&(_, (unit, _))) = entries.first() else { return (Vec::new(), None) };
                let mut said = Vec::with_capacity(entries.len());
                let mut problem = None;
                let mut budget = self.units.budget(&self.units.units[unit]);
                for &(entry, (unit, offset)) in entries {
                    match self.function(unit, offset, &mut budget) {
                        Ok(function) => said.push((entry, function)),
                        Err(error) => {
                            problem = Some(error);
                            break;
                        }
                    }
                }
                match read_names(said, &room, &names) {
                    Ok(found) => (found, problem),
                    Err(error) => (Vec::new(), Some(error)),
                }
            })
            .collect();
        let mut found = Vec::new();
        let mut problems = Vec::new();
        for (functions, problem) in read {
            found.extend(functions);
            problems.extend(problem);
        }
        (found, problems)
    }
}

/// Where which call is the innermost. `ranges`: those of one body, outer ones first where they begin at the same place. One that
/// doesn't lie within those around it is cut where they end.
fn regions(ranges: &[Range]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut add = |offset: u32, call: Option<u32>| match regions.last_mut() {
        Some(last) if last.offset == offset => last.call = call,
        _ => regions.push(Region { offset, call }),
    };
    let mut open: Vec<Range> = Vec::new();
    let close = |open: &mut Vec<Range>, until: u32, add: &mut dyn FnMut(u32, Option<u32>)| {
        while let Some(last) = open.last().copied().filter(|last| last.end <= until) {
            open.pop();
            add(last.end, open.last().map(|around| around.call));
        }
    };
    for range in ranges {
        close(&mut open, range.start, &mut add);
        let end = open.last().map_or(range.end, |around| around.end.min(range.end));
        add(range.start, Some(range.call));
        open.push(Range { end, ..*range });
    }
    close(&mut open, u32::MAX, &mut add);
    regions.dedup_by(|later, region| later.call == region.call);
    regions
}

/// The calls of a body, renumbered. The instructions of a call with an unknown function belong to the call around it.
fn used(
    calls: &[Call],
    mut regions: Vec<Region>,
    mut resolve: impl FnMut(&Call) -> (Option<u32>, Option<Source>),
) -> Inlined {
    let mut wanted: Vec<u32> = Vec::new();
    let mut met = std::collections::HashSet::new();
    for region in &regions {
        let mut next = region.call;
        while let Some(n) = next.filter(|&n| met.insert(n)) {
            wanted.push(n);
            next = calls.get(n as usize).and_then(|call| known(call.caller));
        }
    }
    wanted.sort_unstable();
    let mut numbers: HashMap<u32, Option<u32>> = HashMap::new();
    let mut kept = Vec::new();
    for n in wanted {
        let Some(call) = calls.get(n as usize) else { continue };
        let caller = known(call.caller).and_then(|caller| numbers.get(&caller).copied().flatten());
        let number = match resolve(call) {
            (Some(function), source) => {
                kept.push(InlinedCall { caller, function, source });
                Some(kept.len() as u32 - 1)
            }
            (None, _) => caller,
        };
        numbers.insert(n, number);
    }
    for region in &mut regions {
        region.call = region.call.and_then(|call| numbers.get(&call).copied().flatten());
    }
    regions.dedup_by(|later, region| later.call == region.call);
    let nothing_first = regions.first().is_some_and(|region| region.call.is_none());
    regions.drain(..usize::from(nothing_first));
    Inlined { calls: kept, regions }
}
