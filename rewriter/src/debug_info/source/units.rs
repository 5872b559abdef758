//! The units of a module's DWARF, and the tables that they share.
//!
//! A table is read once, however many units name it: the section is cut where the next one begins, so that two can't
//! have bytes in common, and all of them together take no more than the section. What a unit makes us read elsewhere is
//! counted too, in attributes: they may take no bytes at all.

use super::problem::Problem;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugInfoOffset, DebugLine,
    DebugLineOffset, DebugRngListsBase, DebugStrOffsetsBase, Dwarf, DwarfFileType, EndianSlice,
    IncompleteLineProgram, LittleEndian, Section as _, UnitHeader, UnitOffset, UnitType,
};
use std::collections::BTreeMap;

/// The greatest number of attributes to read of a unit: `ATTRIBUTES`, plus `ATTRIBUTES_PER_BYTE` for each of
/// its bytes. Compilers write a byte or more for each, except for flags.
const ATTRIBUTES: usize = 256;
const ATTRIBUTES_PER_BYTE: usize = 16;

/// The bytes of a section.
pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

pub(crate) type LineProgram<'a> = IncompleteLineProgram<Bytes<'a>>;

/// A unit, as far as it is needed.
pub(crate) struct Unit<'a> {
    pub(crate) header: UnitHeader<Bytes<'a>>,
    /// Whether the rest of it is in another file (split DWARF).
    pub(super) is_split: bool,
    /// Number of its table in [`Units::abbreviations`].
    pub(super) table: u32,
    /// Number of its line program in [`Units::programs`].
    pub(crate) program: Option<u32>,
    /// The folder that it was compiled in.
    pub(crate) folder: Option<AttributeValue<Bytes<'a>>>,
    pub(crate) strings: DebugStrOffsetsBase,
    pub(crate) addresses: DebugAddrBase,
    pub(crate) range_lists: DebugRngListsBase,
    /// What the addresses of its range lists are counted from.
    pub(crate) low_pc: u64,
}

/// All units, in the order of their offsets.
pub(crate) struct Units<'a> {
    pub(crate) units: Vec<Unit<'a>>,
    pub(super) abbreviations: Vec<Abbreviations>,
    /// By the offset, and an error in the place of each that can't be read.
    pub(crate) programs: Vec<gimli::Result<LineProgram<'a>>>,
}

/// What is left to be read.
pub(crate) struct Budget(usize);

impl Budget {
    pub(super) fn of(header: &UnitHeader<Bytes<'_>>) -> Budget {
        Budget(ATTRIBUTES + ATTRIBUTES_PER_BYTE * header.length_including_self())
    }

    pub(crate) fn spend(&mut self, attributes: usize) -> Result<(), Problem> {
        self.0 = self.0.checked_sub(attributes + 1).ok_or(Problem::TooMuch)?;
        Ok(())
    }
}

/// The attributes of a DIE that are needed.
#[derive(Default)]
pub(crate) struct Entry<'a> {
    pub(crate) low_pc: Option<AttributeValue<Bytes<'a>>>,
    pub(crate) file: Option<u64>,
    pub(crate) line: Option<u32>,
    pub(crate) name: Option<AttributeValue<Bytes<'a>>>,
    pub(crate) linkage_name: Option<AttributeValue<Bytes<'a>>>,
    pub(crate) high_pc: Option<AttributeValue<Bytes<'a>>>,
    pub(crate) ranges: Option<AttributeValue<Bytes<'a>>>,
    /// Where an inlined call was.
    pub(crate) call_file: Option<u64>,
    pub(crate) call_line: Option<u32>,
    /// The DIE with more attributes.
    pub(crate) origin: Option<AttributeValue<Bytes<'a>>>,
    lines: Option<DebugLineOffset>,
    folder: Option<AttributeValue<Bytes<'a>>>,
    pub(super) strings: Option<DebugStrOffsetsBase>,
    addresses: Option<DebugAddrBase>,
    pub(super) range_lists: Option<DebugRngListsBase>,
    is_split: bool,
}

impl Unit<'_> {
    /// Where it begins in `.debug_info`.
    pub(super) fn at(&self) -> usize {
        self.header.debug_info_offset().map_or(0, |offset| offset.0)
    }
}

impl<'a> Units<'a> {
    /// Reads the headers of all units and the tables that they name.
    pub(crate) fn read(dwarf: &Dwarf<Bytes<'a>>, problems: &mut Vec<Problem>) -> Units<'a> {
        let mut headers = Vec::new();
        let mut iterator = dwarf.units();
        loop {
            match iterator.next() {
                Ok(Some(header)) => headers.push(header),
                Ok(None) => break,
                Err(error) => {
                    problems.push(error.into());
                    break;
                }
            }
        }
        let mut abbreviations = Vec::new();
        let offsets = headers.iter().map(|header| header.debug_abbrev_offset().0);
        let tables = shared(offsets, dwarf.debug_abbrev.reader(), |start, table| {
            match DebugAbbrev::from(table).abbreviations(DebugAbbrevOffset(start)) {
                Ok(table) => {
                    abbreviations.push(table);
                    Some(abbreviations.len() - 1)
                }
                Err(error) => {
                    problems.push(error.into());
                    None
                }
            }
        });
        let mut units = Vec::new();
        let mut line_offsets = Vec::new();
        for header in headers {
            let Some(&Some(table)) = tables.get(&header.debug_abbrev_offset().0) else { continue };
            match entry(&header, &abbreviations[table], header.root_offset(), &mut Budget::of(&header)) {
                Ok(root) => {
                    let file_type = DwarfFileType::Main;
                    let strings =
                        DebugStrOffsetsBase::default_for_encoding_and_file(header.encoding(), file_type);
                    let addresses = root.addresses.unwrap_or(DebugAddrBase(0));
                    let low_pc = match root.low_pc {
                        Some(AttributeValue::Addr(address)) => address,
                        Some(AttributeValue::DebugAddrIndex(index))
                            if index.0 < dwarf.debug_addr.reader().len() =>
                        {
                            dwarf.debug_addr.get_address(header.address_size(), addresses, index).unwrap_or(0)
                        }
                        _ => 0,
                    };
                    line_offsets.push(root.lines.map(|lines| (lines.0, header.address_size())));
                    let strings = root.strings.unwrap_or(strings);
                    units.push(Unit {
                        header,
                        is_split: root.is_split || matches!(header.type_(), UnitType::Skeleton(_)),
                        table: table as u32,
                        program: None,
                        folder: root.folder,
                        strings,
                        addresses,
                        range_lists: root.range_lists.unwrap_or_else(|| {
                            DebugRngListsBase::default_for_encoding_and_file(header.encoding(), file_type)
                        }),
                        low_pc,
                    });
                }
                Err(problem) => problems.push(problem),
            }
        }
        // Of units that share one the size of addresses is the same.
        let sizes: BTreeMap<usize, u8> = line_offsets.iter().flatten().copied().collect();
        let mut programs = Vec::new();
        let offsets = sizes.keys().copied();
        let numbers = shared(offsets, dwarf.debug_line.reader(), |start, table| {
            // Whose folder it is differs between the units that share it.
            programs.push(DebugLine::from(table).program(DebugLineOffset(start), sizes[&start], None, None));
            programs.len() - 1
        });
        for (unit, lines) in units.iter_mut().zip(line_offsets) {
            unit.program = lines.and_then(|(offset, _)| u32::try_from(*numbers.get(&offset)?).ok());
        }
        problems.extend(programs.iter().filter_map(|program| Some(Problem::from(*program.as_ref().err()?))));
        Units { units, abbreviations, programs }
    }

    pub(crate) fn budget(&self, unit: &Unit<'a>) -> Budget {
        Budget::of(&unit.header)
    }

    pub(crate) fn abbreviations(&self, unit: &Unit<'a>) -> &Abbreviations {
        &self.abbreviations[unit.table as usize]
    }

    pub(crate) fn entry(
        &self,
        unit: &Unit<'a>,
        offset: UnitOffset,
        budget: &mut Budget,
    ) -> Result<Entry<'a>, Problem> {
        entry(&unit.header, self.abbreviations(unit), offset, budget)
    }

    /// The number of the unit that a place belongs to, counted as [`Unit::at`] says, and where in it.
    pub(crate) fn unit_of(&self, to: DebugInfoOffset) -> Option<(usize, UnitOffset)> {
        let at = self.units.partition_point(|unit| unit.at() <= to.0).checked_sub(1)?;
        let unit = self.units.get(at)?;
        let offset = UnitOffset(to.0 - unit.at());
        (offset.0 < unit.header.length_including_self()).then_some((at, offset))
    }
}

/// Reads the tables at these offsets of a section, each once and no further than the next one's beginning.
fn shared<'a, T>(
    offsets: impl Iterator<Item = usize>,
    section: &Bytes<'a>,
    mut read: impl FnMut(usize, Bytes<'a>) -> T,
) -> BTreeMap<usize, T> {
    let mut offsets: Vec<usize> = offsets.collect();
    offsets.sort_unstable();
    offsets.dedup();
    let data = section.slice();
    let ends = offsets.iter().skip(1).copied().chain([data.len()]);
    let tables = offsets.iter().zip(ends).map(|(&start, end)| {
        let table = Bytes::new(&data[..end.min(data.len())], LittleEndian);
        (start, read(start, table))
    });
    tables.collect()
}

pub(super) fn entry<'a>(
    header: &UnitHeader<Bytes<'a>>,
    abbreviations: &Abbreviations,
    offset: UnitOffset,
    budget: &mut Budget,
) -> Result<Entry<'a>, Problem> {
    let mut entries = header.entries_raw(abbreviations, Some(offset))?;
    let Some(abbreviation) = entries.read_abbreviation()? else {
        return Err(gimli::Error::NoEntryAtGivenOffset(offset.0 as u64).into());
    };
    budget.spend(abbreviation.attributes().len())?;
    let mut entry = Entry::default();
    let mut specification = None;
    for &spec in abbreviation.attributes() {
        let attribute = entries.read_attribute(spec)?;
        let value = attribute.value();
        match attribute.name() {
            gimli::DW_AT_low_pc => entry.low_pc = Some(value),
            gimli::DW_AT_decl_file => {
                if let AttributeValue::FileIndex(file) = value {
                    entry.file = Some(file);
                }
            }
            gimli::DW_AT_decl_line => {
                entry.line = value.udata_value().and_then(|line| u32::try_from(line).ok())
            }
            gimli::DW_AT_name => entry.name = Some(value),
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => entry.linkage_name = Some(value),
            gimli::DW_AT_high_pc => entry.high_pc = Some(value),
            gimli::DW_AT_ranges => entry.ranges = Some(value),
            gimli::DW_AT_call_file => {
                if let AttributeValue::FileIndex(file) = value {
                    entry.call_file = Some(file);
                }
            }
            gimli::DW_AT_call_line => {
                entry.call_line = value.udata_value().and_then(|line| u32::try_from(line).ok())
            }
            gimli::DW_AT_abstract_origin => entry.origin = Some(value),
            gimli::DW_AT_specification => specification = Some(value),
            gimli::DW_AT_comp_dir => entry.folder = Some(value),
            gimli::DW_AT_stmt_list => {
                if let AttributeValue::DebugLineRef(lines) = value {
                    entry.lines = Some(lines);
                }
            }
            gimli::DW_AT_str_offsets_base => {
                if let AttributeValue::DebugStrOffsetsBase(base) = value {
                    entry.strings = Some(base);
                }
            }
            gimli::DW_AT_rnglists_base => {
                if let AttributeValue::DebugRngListsBase(base) = value {
                    entry.range_lists = Some(base);
                }
            }
            gimli::DW_AT_GNU_dwo_id => entry.is_split |= matches!(value, AttributeValue::DwoId(_)),
            gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base => {
                if let AttributeValue::DebugAddrBase(base) = value {
                    entry.addresses = Some(base);
                }
            }
            _ => {}
        }
    }
    entry.origin = entry.origin.or(specification);
    Ok(entry)
}
