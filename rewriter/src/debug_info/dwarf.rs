//! DWARF follows the code that has moved.
//!
//! Nothing changes its place but line programs and the lists of DWARF 5, which are written anew: addresses are put in the
//! place of addresses, lengths in the place of lengths. So references stay right, also those that nobody here knows of.
//! If something isn't understood, there is no debug information at all: what is wrong is worse than none.

mod aranges;
mod entries;
mod expressions;
mod lines;
mod lists;
mod macros;

pub(crate) use crate::debug_info::source::Problem;
use crate::debug_info::source::{Bytes, Units};
use crate::module::info::{BodyPlace, ModuleInfo};
use crate::module::moves::Moves;
pub(crate) use expressions::Globals;
use gimli::{DebugAddrBase, DebugAddrIndex, Dwarf, LittleEndian, Section as _};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Sections that name no code.
const UNCHANGED: [&str; 10] = [
    ".debug_abbrev",
    ".debug_gnu_pubnames",
    ".debug_gnu_pubtypes",
    ".debug_line_str",
    ".debug_macinfo",
    ".debug_names",
    ".debug_pubnames",
    ".debug_pubtypes",
    ".debug_str",
    ".debug_str_offsets",
];

const INFO: &str = ".debug_info";
const ADDR: &str = ".debug_addr";
const ARANGES: &str = ".debug_aranges";
const LINE: &str = ".debug_line";
const LOC: &str = ".debug_loc";
const LOCLISTS: &str = ".debug_loclists";
const MACRO: &str = ".debug_macro";
const RANGES: &str = ".debug_ranges";
const RNGLISTS: &str = ".debug_rnglists";

/// Sections that do, or name what has moved.
const CHANGED: [&str; 9] = [INFO, ADDR, ARANGES, LINE, LOC, LOCLISTS, MACRO, RANGES, RNGLISTS];

/// Whether a custom section is of DWARF.
pub(crate) fn is_section(name: &str) -> bool {
    name.starts_with(".debug_")
}

/// Whether a section of DWARF can follow the code.
pub(crate) fn is_kept(name: &str) -> bool {
    UNCHANGED.contains(&name) || CHANGED.contains(&name)
}

/// What becomes of each section.
#[derive(Default)]
pub(crate) struct Converted {
    /// Other numbers at offsets of a section.
    patches: BTreeMap<&'static str, Vec<Patch>>,
    /// Sections that are written anew.
    replaced: BTreeMap<&'static str, Vec<u8>>,
}

/// Another number at an offset of a section.
#[derive(Clone, Copy, Debug)]
struct Patch {
    at: usize,
    /// How many bytes it has.
    size: u8,
    /// Whether these are LEB128.
    leb: bool,
    value: u64,
}

/// Offsets in a section that is written anew: where the things that they name have come to.
type Offsets = BTreeMap<usize, usize>;

/// What addresses mean, before and after.
struct Code<'a> {
    moves: &'a Moves,
    globals: Globals,
    start: u64,
    bodies: &'a [BodyPlace],
}

impl Code<'_> {
    /// Where an address has come to. Linkers leave other numbers where a function was removed: `None`.
    fn address(&self, old: u64) -> Option<u64> {
        self.moves.address(old, self.start, self.bodies)
    }

    /// The same, for both ends of a range.
    fn range(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let new = self.address(begin)?;
        // A range ends in the function that it begins in, or in one behind it.
        Some((
            new,
            self.address(end)
                .filter(|&end| end >= new)
                .unwrap_or(new.saturating_add(end.saturating_sub(begin))),
        ))
    }
}

/// Reads a module's debug information, and says what becomes of it.
pub(crate) fn convert(info: &ModuleInfo<'_>, moves: &Moves, globals: Globals) -> Result<Converted, Problem> {
    let Some(content) = info.code() else { return Ok(Converted::default()) };
    let code = Code { moves, globals, start: content.start as u64, bodies: &info.bodies };
    let section = |name: &str| info.custom_section(name).map_or(&[][..], |(data, _)| data);
    let load = |id: gimli::SectionId| Ok::<_, Infallible>(Bytes::new(section(id.name()), LittleEndian));
    let Ok(dwarf) = Dwarf::load(load);
    let mut problems = Vec::new();
    let units = Units::read(&dwarf, &mut problems);
    if let Some(&problem) = problems.first() {
        return Err(problem);
    }
    let found = entries::read(&dwarf, &units, &code)?;
    let mut converted = Converted::default();
    let address_size = units.units.first().map_or(4, |unit| unit.header.address_size());
    let mut addresses = found.addresses;

    let (lines, line_offsets) = lines::convert(section(LINE), address_size, &code)?;
    let (ranges, range_offsets) = lists::convert(
        lists::Kind::Ranges,
        section(RNGLISTS),
        &found.ranges.listed,
        &code,
        &dwarf,
        &mut addresses,
    )?;
    let (locations, location_offsets) = lists::convert(
        lists::Kind::Locations,
        section(LOCLISTS),
        &found.locations.listed,
        &code,
        &dwarf,
        &mut addresses,
    )?;
    converted.replaced.extend([(LINE, lines), (RNGLISTS, ranges), (LOCLISTS, locations)]);

    let mut info_patches = found.patches;
    for reference in found.references {
        let offsets = match reference.to {
            entries::To::Line => &line_offsets,
            entries::To::Ranges => &range_offsets,
            entries::To::Locations => &location_offsets,
        };
        let value = *offsets.get(&reference.old).ok_or(Problem::Reference)? as u64;
        info_patches.push(Patch { at: reference.at, size: reference.size, leb: false, value });
    }
    converted.patches.insert(INFO, info_patches);
    converted
        .patches
        .insert(RANGES, lists::bare(lists::Kind::Ranges, section(RANGES), &found.ranges.bare, &code)?);
    converted
        .patches
        .insert(LOC, lists::bare(lists::Kind::Locations, section(LOC), &found.locations.bare, &code)?);
    converted.patches.insert(MACRO, macros::convert(section(MACRO), &line_offsets)?);
    converted.patches.insert(ARANGES, aranges::convert(section(ARANGES), &code)?);
    let mut in_table = Vec::new();
    for (at, size) in addresses {
        let old = number(section(ADDR), at, size).ok_or(Problem::Reference)?;
        in_table.extend(code.address(old).map(|value| Patch { at, size, leb: false, value }));
    }
    converted.patches.insert(ADDR, in_table);
    Ok(converted)
}

impl Converted {
    /// Appends the data of a section to `out`.
    pub(crate) fn write(&self, name: &str, data: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
        if let Some(new) = self.replaced.get(name) {
            out.extend_from_slice(new);
            return Ok(());
        }
        let start = out.len();
        out.extend_from_slice(data);
        for patch in self.patches.get(name).into_iter().flatten() {
            let at = start + patch.at;
            let place = out.get_mut(at..at + usize::from(patch.size)).ok_or(Problem::Reference)?;
            patch.put(place)?;
        }
        Ok(())
    }
}

impl Patch {
    fn put(self, place: &mut [u8]) -> Result<(), Problem> {
        let mut left = self.value;
        let last = place.len().saturating_sub(1);
        for (n, byte) in place.iter_mut().enumerate() {
            if self.leb {
                *byte = (left & 0x7f) as u8 | if n < last { 0x80 } else { 0 };
                left >>= 7;
            } else {
                *byte = left as u8;
                left = left.checked_shr(8).unwrap_or(0);
            }
        }
        if left == 0 { Ok(()) } else { Err(Problem::NoRoom) }
    }
}

/// A number of so many bytes at an offset.
fn number(data: &[u8], at: usize, size: u8) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(size.into())?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The address with an index, and where it stands in the table of addresses.
fn address_at(
    dwarf: &Dwarf<Bytes<'_>>,
    size: u8,
    base: DebugAddrBase,
    index: DebugAddrIndex,
) -> Result<(u64, usize), Problem> {
    let at = index.0.checked_mul(size.into()).and_then(|offset| base.0.checked_add(offset));
    let at = at.ok_or(Problem::Reference)?;
    Ok((number(dwarf.debug_addr.reader().slice(), at, size).ok_or(Problem::Reference)?, at))
}
