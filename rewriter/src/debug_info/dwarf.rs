//! Moves DWARF with the code.
//!
//! Nothing changes its place but line programs and the lists of DWARF 5, which are written anew: addresses are put in the
//! place of addresses, lengths in the place of lengths. So references stay right, unknown ones too.
//! If something isn't understood, there is no debug information at all: what is wrong is worse than none.

mod code;
mod entries;
mod expressions;
mod lines;
mod lists;
mod patch;

pub(crate) use crate::debug_info::source::Problem;
use crate::debug_info::source::{Bytes, Units};
use crate::module::info::ModuleInfo;
use crate::module::moves::Moves;
use code::Code;
pub(crate) use expressions::Globals;
use gimli::{Dwarf, LittleEndian};
use patch::{Patch, number};
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
const LINE: &str = ".debug_line";
const LOC: &str = ".debug_loc";
const LOCLISTS: &str = ".debug_loclists";
const RANGES: &str = ".debug_ranges";
const RNGLISTS: &str = ".debug_rnglists";

/// Sections that name code. Two more are dropped: macros (`.debug_macro`), and an index that debuggers make themselves (`.debug_aranges`).
const CHANGED: [&str; 7] = [INFO, ADDR, LINE, LOC, LOCLISTS, RANGES, RNGLISTS];

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

/// Reads a module's debug information, and converts it to the moved code.
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
