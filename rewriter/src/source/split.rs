//! Split DWARF: of some units the module has only addresses and lines. The rest of them is in a package, `app.wasm.dwp`.
//!
//! Sources: DWARF 5, sections 7.3.2 and 7.3.5; <https://gcc.gnu.org/wiki/DebugFissionDWP> for what is older.

use super::units::{Budget, Units, entry};
use super::{Bytes, Problem};
use gimli::{
    DebugRngListsBase, DebugStrOffsetsBase, Dwarf, DwarfFileType, DwarfPackage, LittleEndian, Reader as _,
    Section as _, SectionId,
};
use std::collections::HashMap;

/// Where the index of the units is.
pub(crate) const INDEX: &str = ".debug_cu_index";
/// Whether a section is one of a package. The index speaks of all of them.
pub(crate) fn is_section(name: &str) -> bool {
    name == INDEX || name.ends_with(".dwo")
}

/// Parts of units, by what they are called.
pub(crate) struct Package<'a> {
    sections: DwarfPackage<Bytes<'a>>,
    /// Which row of the index each unit has. Looking for one in the index may take as long as reading all of it.
    rows: HashMap<u64, u32>,
}

impl<'a> Package<'a> {
    /// Reads the index. `section` gives the data of a custom section.
    pub(crate) fn read(section: impl Fn(&str) -> &'a [u8]) -> Result<Package<'a>, Problem> {
        let load = |id: SectionId| {
            let name = id.dwo_name().filter(|name| is_section(name));
            Ok::<_, gimli::Error>(Bytes::new(name.map_or(&[][..], &section), LittleEndian))
        };
        let sections = DwarfPackage::load(load, Bytes::new(&[], LittleEndian))?;
        Ok(Package { sections, rows: rows(section(INDEX))? })
    }

    /// Puts into the place of units what the package has of them. Time and memory are in proportion to the package: parts that
    /// have bytes in common are read as long as they don't make more than it has.
    pub(crate) fn complete(
        &self,
        units: &mut Units<'a>,
        dwarf: &Dwarf<Bytes<'a>>,
        problems: &mut Vec<Problem>,
    ) {
        let mut room = Room {
            info: self.sections.debug_info.reader().len(),
            tables: self.sections.debug_abbrev.reader().len(),
            at: dwarf.debug_info.reader().len(),
        };
        for n in 0..units.units.len() {
            match self.complete_one(units, n, dwarf, &mut room) {
                Ok(()) => {}
                Err(problem) => problems.push(problem),
            }
        }
        units.units.sort_by_key(|unit| unit.at());
    }

    fn complete_one(
        &self,
        units: &mut Units<'a>,
        n: usize,
        dwarf: &Dwarf<Bytes<'a>>,
        room: &mut Room,
    ) -> Result<(), Problem> {
        let Some(id) = units.units.get(n).and_then(|unit| Some(unit.skeleton.as_ref()?.id)) else {
            return Ok(());
        };
        let row = self.rows.get(&id.0).ok_or(Problem::NotInPackage)?;
        let part = self.sections.cu_sections(*row, dwarf)?;
        let header = part.units().next()?.ok_or(Problem::NotInPackage)?;
        room.take(header.length_including_self(), part.debug_abbrev.reader().len())?;
        let table = part.debug_abbrev.abbreviations(header.debug_abbrev_offset())?;
        let root = entry(&header, &table, header.root_offset(), &mut Budget::of(&header))?;
        let (encoding, file_type) = (header.encoding(), DwarfFileType::Dwo);
        let strings = DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type);
        let lists = DebugRngListsBase::default_for_encoding_and_file(encoding, file_type);
        let at = room.at;
        room.at = room.at.saturating_add(header.length_including_self());
        units.abbreviations.push(table);
        units.parts.push(part);
        let (table, part) = (units.abbreviations.len() - 1, units.parts.len() - 1);
        if let Some(unit) = units.units.get_mut(n) {
            (unit.header, unit.table) = (header, table as u32);
            if let Some(skeleton) = &mut unit.skeleton {
                skeleton.part = Some((part, at));
            }
            unit.strings = root.strings.unwrap_or(strings);
            unit.range_lists = root.range_lists.unwrap_or(lists);
        }
        Ok(())
    }
}

/// How many bytes of units and of their abbreviations may still be read, and where the next unit begins.
struct Room {
    info: usize,
    tables: usize,
    at: usize,
}

impl Room {
    fn take(&mut self, info: usize, table: usize) -> Result<(), Problem> {
        self.info = self.info.checked_sub(info).ok_or(Problem::TooMuch)?;
        self.tables = self.tables.checked_sub(table).ok_or(Problem::TooMuch)?;
        Ok(())
    }
}

/// The rows of an index, by the units' ids.
fn rows(index: &[u8]) -> gimli::Result<HashMap<u64, u32>> {
    if index.is_empty() {
        return Ok(HashMap::new());
    }
    let mut input = Bytes::new(index, LittleEndian);
    // The version, how many kinds of sections there are, how many units.
    input.skip(12)?;
    let slots = input.read_u32()? as usize;
    let mut ids = input.split(slots.saturating_mul(8))?;
    let mut rows = HashMap::new();
    for _ in 0..slots {
        let (id, row) = (ids.read_u64()?, input.read_u32()?);
        if row > 0 {
            rows.entry(id).or_insert(row);
        }
    }
    Ok(rows)
}
