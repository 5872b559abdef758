//! Split DWARF: of some units the module has only addresses and lines. The rest of each is in a file that the compiler wrote, `app.dwo`,
//! or that of all in a package, `app.wasm.dwp`.
//!
//! Sources: DWARF 5, sections 7.3.2 and 7.3.5; <https://gcc.gnu.org/wiki/DebugFissionDWP> for what is older.

use super::units::{Budget, Units, entry};
use super::{Bytes, Problem, Text, text};
use gimli::{
    DebugRngListsBase, DebugStrOffsetsBase, Dwarf, DwarfFileType, DwarfPackage, DwarfSections, LittleEndian,
    Reader as _, Section as _, SectionId, UnitHeader, UnitType,
};
use std::collections::HashMap;
use std::convert::Infallible;

/// Where the index of a package's units is.
const INDEX: &str = ".debug_cu_index";
/// Where the units are.
const UNITS: &str = ".debug_info.dwo";

/// Whether a section is one of a file with parts of units.
pub(crate) fn is_section(name: &str) -> bool {
    name == INDEX || name.ends_with(".dwo")
}

/// Whether a section tells that a file has parts of units.
pub(crate) fn tells_of_parts(name: &str) -> bool {
    name == INDEX || name == UNITS
}

/// A unit most of which is in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitUnit {
    /// By which it is known there ([`split_ids`](crate::split_ids)).
    pub id: u64,
    /// The path of the file that the compiler wrote, as it was told: from its own folder, if it isn't absolute.
    pub file: String,
    /// The folder that the compiler ran in; empty if that isn't known.
    pub folder: String,
}

/// The units that the module's skeletons are of.
pub(crate) fn units<'a>(section: impl Fn(&str) -> &'a [u8]) -> Vec<SplitUnit> {
    let load = |id: SectionId| Ok::<_, Infallible>(Bytes::new(section(id.name()), LittleEndian));
    let Ok(dwarf) = Dwarf::load(load);
    let units = Units::read(&dwarf, &mut Vec::new());
    let told = units.units.iter().filter_map(|unit| {
        let skeleton = unit.skeleton.as_ref()?;
        let read = |value| text(&dwarf, unit, unit.strings_here(), &value?).ok()?.and_then(Text::read);
        let folder = read(unit.folder).unwrap_or_default();
        Some(SplitUnit { id: skeleton.id.0, file: read(skeleton.file)?, folder })
    });
    told.collect()
}

/// Parts of units, by what they are called.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    packages: Vec<DwarfPackage<Bytes<'a>>>,
    files: Vec<DwarfSections<Bytes<'a>>>,
    places: HashMap<u64, Place<'a>>,
}

/// Where the part of a unit is.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// In a row of a package's index. Looking for one in the index may take as long as reading all of it.
    Package { package: usize, row: u32 },
    /// In a file.
    File { file: usize, header: UnitHeader<Bytes<'a>> },
}

impl<'a> Parts<'a> {
    /// Adds a package, or a file that a compiler wrote. `section` gives the data of a custom section.
    pub(crate) fn add(&mut self, section: impl Fn(&str) -> &'a [u8]) -> Result<(), Problem> {
        let load = |id: SectionId| {
            let name = id.dwo_name().filter(|name| is_section(name));
            Ok::<_, gimli::Error>(Bytes::new(name.map_or(&[][..], &section), LittleEndian))
        };
        let index = section(INDEX);
        if index.is_empty() {
            let sections = DwarfSections::load(load)?;
            for (id, header) in ids(&sections.borrow(|section| *section))? {
                self.places.entry(id).or_insert(Place::File { file: self.files.len(), header });
            }
            self.files.push(sections);
            return Ok(());
        }
        for (id, row) in rows(index)? {
            self.places.entry(id).or_insert(Place::Package { package: self.packages.len(), row });
        }
        self.packages.push(DwarfPackage::load(load, Bytes::new(&[], LittleEndian))?);
        Ok(())
    }

    /// What the units are called.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.places.keys().copied().collect()
    }

    fn sections(
        &self,
        id: u64,
        dwarf: &Dwarf<Bytes<'a>>,
    ) -> Result<(Dwarf<Bytes<'a>>, UnitHeader<Bytes<'a>>), Problem> {
        match *self.places.get(&id).ok_or(Problem::NotInParts)? {
            Place::Package { package, row } => {
                let package = self.packages.get(package).ok_or(Problem::NotInParts)?;
                let sections = package.cu_sections(row, dwarf)?;
                let header = sections.units().next()?.ok_or(Problem::NotInParts)?;
                Ok((sections, header))
            }
            Place::File { file, header } => {
                let file = self.files.get(file).ok_or(Problem::NotInParts)?;
                let mut sections = file.borrow(|section| *section);
                sections.make_dwo(dwarf);
                Ok((sections, header))
            }
        }
    }

    /// The file that has a unit, if no package has it.
    fn file(&self, id: u64) -> Option<usize> {
        match self.places.get(&id)? {
            Place::File { file, .. } => Some(*file),
            Place::Package { .. } => None,
        }
    }

    /// Puts into the place of units what there is of them. Time and memory are in proportion to the files: parts that
    /// have bytes in common are read as long as they don't make more than these have.
    pub(crate) fn complete(
        &self,
        units: &mut Units<'a>,
        dwarf: &Dwarf<Bytes<'a>>,
        problems: &mut Vec<Problem>,
    ) {
        let mut room = Room { info: 0, tables: 0, at: dwarf.debug_info.reader().len() };
        for package in &self.packages {
            room.give(package.debug_info.reader().len(), package.debug_abbrev.reader().len());
        }
        for file in &self.files {
            room.give(file.debug_info.reader().len(), file.debug_abbrev.reader().len());
        }
        let mut tables = HashMap::new();
        for n in 0..units.units.len() {
            match self.complete_one(units, n, dwarf, (&mut room, &mut tables)) {
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
        (room, tables): (&mut Room, &mut Tables),
    ) -> Result<(), Problem> {
        let Some(id) = units.units.get(n).and_then(|unit| Some(unit.skeleton.as_ref()?.id)) else {
            return Ok(());
        };
        let (part, header) = self.sections(id.0, dwarf)?;
        let key = self.file(id.0).map(|file| (file, header.debug_abbrev_offset().0));
        let known = key.and_then(|key| tables.get(&key).copied());
        let bytes = if known.is_some() { 0 } else { part.debug_abbrev.reader().len() };
        room.take(header.length_including_self(), bytes)?;
        let table = match known {
            Some(table) => table,
            None => {
                units.abbreviations.push(part.debug_abbrev.abbreviations(header.debug_abbrev_offset())?);
                units.abbreviations.len() - 1
            }
        };
        tables.extend(key.map(|key| (key, table)));
        let abbreviations = units.abbreviations.get(table).ok_or(Problem::NotInParts)?;
        let root = entry(&header, abbreviations, header.root_offset(), &mut Budget::of(&header))?;
        let (encoding, file_type) = (header.encoding(), DwarfFileType::Dwo);
        let strings = DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file_type);
        let lists = DebugRngListsBase::default_for_encoding_and_file(encoding, file_type);
        let at = room.at;
        room.at = room.at.saturating_add(header.length_including_self());
        units.parts.push(part);
        let part = units.parts.len() - 1;
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

/// The numbers of tables of abbreviations that several units of a file may share, by the file and the place in it.
type Tables = HashMap<(usize, usize), usize>;

/// How many bytes of units and of their abbreviations may still be read, and where the next unit begins.
struct Room {
    info: usize,
    tables: usize,
    at: usize,
}

impl Room {
    fn give(&mut self, info: usize, table: usize) {
        self.info = self.info.saturating_add(info);
        self.tables = self.tables.saturating_add(table);
    }

    fn take(&mut self, info: usize, table: usize) -> Result<(), Problem> {
        self.info = self.info.checked_sub(info).ok_or(Problem::TooMuch)?;
        self.tables = self.tables.checked_sub(table).ok_or(Problem::TooMuch)?;
        Ok(())
    }
}

/// The units of a file, by their ids.
fn ids<'a>(sections: &Dwarf<Bytes<'a>>) -> Result<Vec<(u64, UnitHeader<Bytes<'a>>)>, Problem> {
    let mut ids = Vec::new();
    let mut headers = sections.units();
    while let Some(header) = headers.next()? {
        match header.type_() {
            UnitType::SplitCompilation(id) => ids.push((id.0, header)),
            // Before DWARF 5 the root says it. There is one such unit in a file.
            UnitType::Compilation if ids.is_empty() => {
                let table = sections.debug_abbrev.abbreviations(header.debug_abbrev_offset())?;
                let root = entry(&header, &table, header.root_offset(), &mut Budget::of(&header))?;
                ids.extend(root.part.map(|id| (id.0, header)));
            }
            _ => {}
        }
    }
    Ok(ids)
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
