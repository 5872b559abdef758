//! The DWARF of a module, with its addresses and texts.

use super::problem::Problem;
use super::units::{Bytes, Unit, Units};
use crate::module::info::BodyPlace;
use gimli::{AttributeValue, DebugStrOffsetsBase, Dwarf, Section as _};

/// The largest encoded size of a body, in bytes. Some compilers count it as part of the body.
const SIZE_BYTES: u64 = 5;
/// The longest name of a file or a folder.
const MAX_NAME: usize = 4096;

/// Where the bodies of a module lie: what DWARF's addresses mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    /// Where the content of the code section begins, which addresses are counted from.
    pub(crate) code: u64,
    /// In the order of their indices.
    pub(crate) bodies: &'a [BodyPlace],
}

impl Layout<'_> {
    /// The defined function at an address. Linkers leave 0 or all ones where a function was removed.
    pub(crate) fn body_at(&self, address: u64) -> Option<usize> {
        let at = self.code.checked_add(address).filter(|_| address > 0)?;
        let n = self.bodies.partition_point(|body| u64::from(body.end) <= at);
        let body = self.bodies.get(n)?;
        (u64::from(body.start) <= at.saturating_add(SIZE_BYTES)).then_some(n)
    }
}

/// A module's sections and units.
pub(super) struct Debug<'i, 'a> {
    pub(super) layout: Layout<'i>,
    pub(super) dwarf: Dwarf<Bytes<'a>>,
    pub(super) units: Units<'a>,
}

impl<'a> Debug<'_, 'a> {
    /// The size of the sections with names, in bytes.
    pub(super) fn bytes_with_names(&self) -> usize {
        self.dwarf.debug_info.reader().len() + self.dwarf.debug_str.reader().len()
    }

    pub(super) fn address(
        &self,
        unit: &Unit<'a>,
        value: AttributeValue<Bytes<'a>>,
    ) -> Result<Option<u64>, Problem> {
        Ok(match value {
            AttributeValue::Addr(address) => Some(address),
            AttributeValue::DebugAddrIndex(index) if index.0 < self.dwarf.debug_addr.reader().len() => {
                let size = unit.header.address_size();
                Some(self.dwarf.debug_addr.get_address(size, unit.addresses, index)?)
            }
            _ => None,
        })
    }

    /// The text of a value.
    pub(super) fn text(
        &self,
        unit: &Unit<'a>,
        value: &AttributeValue<Bytes<'a>>,
    ) -> Result<Option<Text<'a>>, Problem> {
        text(&self.dwarf, unit, unit.strings, value)
    }

    /// The text of a value of the unit's line program, or of its root in the module; `None` for one that is longer than names are.
    pub(super) fn text_here(
        &self,
        unit: &Unit<'a>,
        value: &AttributeValue<Bytes<'a>>,
    ) -> Result<Option<String>, Problem> {
        Ok(text(&self.dwarf, unit, unit.strings, value)?.and_then(Text::read))
    }
}

/// A text in a section, cut after the longest name.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    /// Whether it is all of the bytes, without a 0 at their end.
    is_whole: bool,
}

impl Text<'_> {
    /// The text; `None` if it is longer than names are.
    pub(super) fn read(self) -> Option<String> {
        if self.is_whole {
            return name(self.bytes);
        }
        let end = self.bytes.iter().position(|&byte| byte == 0)?;
        name(self.bytes.get(..end)?)
    }
}

fn text<'a>(
    dwarf: &Dwarf<Bytes<'a>>,
    unit: &Unit<'a>,
    strings: DebugStrOffsetsBase,
    value: &AttributeValue<Bytes<'a>>,
) -> Result<Option<Text<'a>>, Problem> {
    let (section, offset) = match *value {
        AttributeValue::String(text) => return Ok(Some(Text { bytes: text.slice(), is_whole: true })),
        AttributeValue::DebugStrRef(offset) => (dwarf.debug_str.reader(), offset.0),
        AttributeValue::DebugLineStrRef(offset) => (dwarf.debug_line_str.reader(), offset.0),
        AttributeValue::DebugStrOffsetsIndex(index) => {
            let offsets = &dwarf.debug_str_offsets;
            if index.0 >= offsets.reader().len() {
                return Ok(None);
            }
            let offset = offsets.get_str_offset(unit.header.format(), strings, index)?;
            (dwarf.debug_str.reader(), offset.0)
        }
        _ => return Ok(None),
    };
    // No further than a name goes: thousands of files may have the same megabyte for a name.
    let rest = section.slice().get(offset..).unwrap_or_default();
    Ok(Some(Text { bytes: &rest[..rest.len().min(MAX_NAME + 1)], is_whole: false }))
}

/// A name, if it is no longer than names are.
pub(super) fn name(text: &[u8]) -> Option<String> {
    (text.len() <= MAX_NAME).then(|| String::from_utf8_lossy(text).into_owned())
}
