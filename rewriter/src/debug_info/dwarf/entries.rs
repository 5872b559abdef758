//! `.debug_info`: the addresses and lengths of entries, and what they refer to in sections that are written anew.

use super::code::{Code, address_at};
use super::expressions;
use super::patch::Patch;
use crate::debug_info::source::{Bytes, Problem, Unit, Units};
use gimli::{AttributeValue, DwForm, Dwarf};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What was found in all units.
#[derive(Default)]
pub(super) struct Found {
    pub(super) patches: Vec<Patch>,
    pub(super) references: Vec<Reference>,
    pub(super) ranges: Lists,
    pub(super) locations: Lists,
    /// Addresses of code in the table of addresses: where, and of how many bytes.
    pub(super) addresses: BTreeMap<usize, u8>,
}

/// Lists that units use, by their offsets. Units of DWARF 4 and older have theirs in another section, so two lists may
/// have one offset.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) bare: BTreeMap<usize, ListUse>,
    /// Those of DWARF 5.
    pub(super) listed: BTreeMap<usize, ListUse>,
}

impl Lists {
    fn insert(&mut self, version: u16, offset: usize, list: ListUse) {
        if version < 5 { &mut self.bare } else { &mut self.listed }.insert(offset, list);
    }

    fn extend(&mut self, others: Lists) {
        self.bare.extend(others.bare);
        self.listed.extend(others.listed);
    }
}

/// How a list is to be read.
#[derive(Clone, Copy)]
pub(super) struct ListUse {
    pub(super) encoding: gimli::Encoding,
    /// What its offsets are counted from.
    pub(super) base: u64,
    /// Of the unit's addresses, in their table.
    pub(super) addresses: gimli::DebugAddrBase,
}

/// An offset in another section.
pub(super) struct Reference {
    pub(super) at: usize,
    pub(super) size: u8,
    pub(super) to: To,
    pub(super) old: usize,
}

/// What a reference leads to.
#[derive(Clone, Copy)]
pub(super) enum To {
    Line,
    Ranges,
    Locations,
}

pub(super) fn read<'a>(
    dwarf: &Dwarf<Bytes<'a>>,
    units: &Units<'a>,
    code: &Code<'_>,
) -> Result<Found, Problem> {
    let found = units.units.par_iter().map(|unit| of_unit(dwarf, units, unit, code));
    let found: Vec<Found> = found.collect::<Result<_, _>>()?;
    let mut all = Found::default();
    for found in found {
        all.patches.extend(found.patches);
        all.references.extend(found.references);
        all.ranges.extend(found.ranges);
        all.locations.extend(found.locations);
        all.addresses.extend(found.addresses);
    }
    Ok(all)
}

/// A value of an entry, and its offset.
#[derive(Clone, Copy)]
struct Value<'a> {
    value: AttributeValue<Bytes<'a>>,
    form: DwForm,
    at: usize,
    size: usize,
}

/// The bases of a unit's tables, from its root, in any order.
#[derive(Clone, Copy)]
struct Bases {
    low: u64,
    ranges: gimli::DebugRngListsBase,
    locations: gimli::DebugLocListsBase,
}

fn of_unit<'a>(
    dwarf: &Dwarf<Bytes<'a>>,
    units: &Units<'a>,
    unit: &Unit<'a>,
    code: &Code<'_>,
) -> Result<Found, Problem> {
    let mut found = Found::default();
    let encoding = unit.header.encoding();
    let Some(start) = unit.header.debug_info_offset() else { return Ok(found) };
    let mut budget = units.budget(unit);
    let mut entries = unit.header.entries_raw(units.abbreviations(unit), None)?;
    let mut bases = None;
    let mut values: Vec<(gimli::DwAt, Value<'_>)> = Vec::new();
    while !entries.is_empty() {
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        budget.spend(abbreviation.attributes().len())?;
        values.clear();
        for &spec in abbreviation.attributes() {
            let begin = entries.next_offset().0;
            let attribute = entries.read_attribute(spec)?;
            let size = entries.next_offset().0 - begin;
            let value = Value { value: attribute.value(), form: spec.form(), at: start.0 + begin, size };
            values.push((attribute.name(), value));
        }
        if values.iter().any(|(name, _)| matches!(*name, gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name)) {
            return Err(Problem::Split);
        }
        let address = |value: &Value<'_>| -> Result<Option<u64>, Problem> {
            Ok(match value.value {
                AttributeValue::Addr(address) => Some(address),
                AttributeValue::DebugAddrIndex(index) => {
                    Some(address_at(dwarf, encoding.address_size, unit.addresses, index)?.0)
                }
                _ => None,
            })
        };
        let low = values.iter().find(|(name, _)| *name == gimli::DW_AT_low_pc);
        let low = low.map_or(Ok(None), |(_, value)| address(value))?;
        let bases = *bases.get_or_insert_with(|| {
            let mut bases = Bases {
                low: low.unwrap_or(0),
                ranges: gimli::DebugRngListsBase::default_for_encoding_and_file(
                    encoding,
                    gimli::DwarfFileType::Main,
                ),
                locations: gimli::DebugLocListsBase::default_for_encoding_and_file(
                    encoding,
                    gimli::DwarfFileType::Main,
                ),
            };
            for (_, value) in &values {
                match value.value {
                    AttributeValue::DebugRngListsBase(base) => bases.ranges = base,
                    AttributeValue::DebugLocListsBase(base) => bases.locations = base,
                    _ => {}
                }
            }
            bases
        });
        let list = ListUse { encoding, base: bases.low, addresses: unit.addresses };
        for (name, value) in &values {
            let word = encoding.format.word_size();
            let mut refer = |to, old| {
                if value.form != gimli::DW_FORM_rnglistx && value.form != gimli::DW_FORM_loclistx {
                    found.references.push(Reference { at: value.at, size: word, to, old });
                }
            };
            match value.value {
                AttributeValue::Addr(old) => {
                    let size = value.size as u8;
                    let patch =
                        code.address(old).map(|new| Patch { at: value.at, size, leb: false, value: new });
                    found.patches.extend(patch);
                }
                AttributeValue::Exprloc(gimli::Expression(expression)) => {
                    // It is at the end of the value, after its length.
                    let at = value.at + value.size - expression.len();
                    found.patches.extend(expressions::patches(expression, at, encoding, code.globals)?);
                }
                AttributeValue::DebugAddrIndex(index) => {
                    let size = encoding.address_size;
                    let (_, at) = address_at(dwarf, size, unit.addresses, index)?;
                    found.addresses.insert(at, size);
                }
                AttributeValue::DebugLineRef(old) => refer(To::Line, old.0),
                AttributeValue::RangeListsRef(old) => {
                    found.ranges.insert(encoding.version, old.0, list);
                    if encoding.version >= 5 {
                        refer(To::Ranges, old.0);
                    }
                }
                AttributeValue::DebugRngListsIndex(index) => {
                    let offset = dwarf.ranges.get_offset(encoding, bases.ranges, index)?;
                    found.ranges.insert(encoding.version, offset.0, list);
                }
                AttributeValue::LocationListsRef(old) => {
                    found.locations.insert(encoding.version, old.0, list);
                    if encoding.version >= 5 {
                        refer(To::Locations, old.0);
                    }
                }
                AttributeValue::DebugLocListsIndex(index) => {
                    let offset = dwarf.locations.get_offset(encoding, bases.locations, index)?;
                    found.locations.insert(encoding.version, offset.0, list);
                }
                AttributeValue::DebugRngListsBase(base) => refer(To::Ranges, base.0),
                AttributeValue::DebugLocListsBase(base) => refer(To::Locations, base.0),
                // A length: an address was met above.
                _ if *name == gimli::DW_AT_high_pc => {
                    if let (Some(low), Some(length)) = (low, value.value.udata_value())
                        && let Some((begin, end)) = code.range(low, low.saturating_add(length))
                    {
                        let leb = value.form == gimli::DW_FORM_udata;
                        if value.size == 0 || value.form == gimli::DW_FORM_sdata {
                            return Err(Problem::NoRoom);
                        }
                        let size = value.size as u8;
                        found.patches.push(Patch { at: value.at, size, leb, value: end - begin });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}
