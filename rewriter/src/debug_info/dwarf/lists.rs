//! Lists of ranges and of locations.
//!
//! - `.debug_ranges` and `.debug_loc` are patched in place.
//! - DWARF 5's lists are written anew.

use super::code::{Code, address_at};
use super::entries::ListUse;
use super::expressions;
use super::patch::{Offsets, Patch, number};
use crate::debug_info::source::{Bytes, Problem};
use gimli::{DebugAddrIndex, Dwarf, LittleEndian, Reader as _};
use kperf_abi::leb128;
use std::collections::{BTreeMap, HashSet};

/// What a list's entries are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ranges,
    /// Each entry ends with an expression.
    Locations,
}

/// The numbers that change in lists of DWARF 4 and older.
pub(super) fn bare(
    kind: Kind,
    data: &[u8],
    uses: &BTreeMap<usize, ListUse>,
    code: &Code<'_>,
) -> Result<Vec<Patch>, Problem> {
    let mut patches = Vec::new();
    let mut seen = HashSet::new();
    for (&start, list) in uses {
        let size = list.encoding.address_size;
        let (width, last) = (usize::from(size), u64::MAX >> (64 - 8 * u32::from(size.clamp(1, 8))));
        let (mut at, mut base) = (start, list.base);
        loop {
            // Where lists overlap, each entry changes once.
            if !seen.insert(at) {
                break;
            }
            let field = |at: usize| number(data, at, size).ok_or(Problem::Reference);
            let (begin, end) = (field(at)?, field(at + width)?);
            let places = [at, at + width];
            at += 2 * width;
            if begin == 0 && end == 0 {
                break;
            }
            let put = |at, value| Patch { at, size, leb: false, value };
            if begin == last {
                base = end;
                patches.extend(code.address(base).map(|new| put(places[1], new)));
                continue;
            }
            if let Some((begin, end)) = offsets(code, base, begin, end) {
                patches.extend([put(places[0], begin), put(places[1], end)]);
            }
            if kind == Kind::Locations {
                let length = usize::try_from(number(data, at, 2).ok_or(Problem::Reference)?).unwrap_or(0);
                at += 2;
                let expression = data.get(at..at + length).ok_or(Problem::Reference)?;
                let expression = Bytes::new(expression, LittleEndian);
                patches.extend(expressions::patches(expression, at, list.encoding, code.globals)?);
                at += length;
            }
        }
    }
    Ok(patches)
}

/// A range counted from a base, in the new code.
fn offsets(code: &Code<'_>, base: u64, begin: u64, end: u64) -> Option<(u64, u64)> {
    let (new, new_end) = code.range(base.checked_add(begin)?, base.checked_add(end)?)?;
    let new_base = code.address(base).unwrap_or(base);
    Some((new.checked_sub(new_base)?, new_end.checked_sub(new_base)?))
}

/// A section of DWARF 5 with new addresses, and the new offset of each list and each table of lists.
/// `addresses` gets the entries of the table of addresses that lists use.
pub(super) fn convert(
    kind: Kind,
    data: &[u8],
    uses: &BTreeMap<usize, ListUse>,
    code: &Code<'_>,
    dwarf: &Dwarf<Bytes<'_>>,
    addresses: &mut BTreeMap<usize, u8>,
) -> Result<(Vec<u8>, Offsets), Problem> {
    let mut out = Vec::with_capacity(data.len() + data.len() / 4);
    let mut moved = Offsets::new();
    let mut at = 0;
    while at < data.len() {
        // Length, version, size of addresses, size of segments, number of offsets, and these.
        let short = number(data, at, 4).ok_or(Problem::Reference)?;
        let (word, length_at) = if short == 0xffff_ffff { (8_u8, at + 4) } else { (4, at) };
        let length = number(data, length_at, word).and_then(|length| usize::try_from(length).ok());
        let header = length_at + usize::from(word);
        let end = length.and_then(|length| header.checked_add(length)).filter(|&end| end <= data.len());
        let end = end.ok_or(Problem::Reference)?;
        let count = number(data, header + 4, 4).and_then(|count| usize::try_from(count).ok());
        let table = header + 8;
        let lists = count.and_then(|count| count.checked_mul(word.into())?.checked_add(table));
        let lists = lists.filter(|&lists| lists <= end).ok_or(Problem::Reference)?;
        let shift = out.len();
        moved.insert(table, shift + table - at);
        out.extend_from_slice(&data[at..lists]);
        // Lists follow each other.
        let mut list_at = lists;
        while list_at < end {
            moved.insert(list_at, out.len());
            let mut list = List { kind, code, dwarf, addresses, out: &mut out, list: uses.get(&list_at) };
            let rest = list.convert(Bytes::new(&data[list_at..end], LittleEndian))?;
            list_at = end - rest.len();
        }
        for entry in (table..lists).step_by(word.into()) {
            let old = number(data, entry, word).and_then(|old| usize::try_from(old).ok());
            let old = old.and_then(|old| table.checked_add(old)).ok_or(Problem::Reference)?;
            let new = *moved.get(&old).ok_or(Problem::Reference)?;
            let value = (new - (shift + table - at)) as u64;
            let place = shift + entry - at;
            Patch { at: place, size: word, leb: false, value }
                .put(&mut out[place..place + usize::from(word)])?;
        }
        let place = shift + length_at - at;
        let length = (out.len() - shift - (header - at)) as u64;
        Patch { at: place, size: word, leb: false, value: length }
            .put(&mut out[place..place + usize::from(word)])?;
        at = end;
    }
    Ok((out, moved))
}

struct List<'l, 'a> {
    kind: Kind,
    code: &'l Code<'l>,
    dwarf: &'l Dwarf<Bytes<'a>>,
    addresses: &'l mut BTreeMap<usize, u8>,
    out: &'l mut Vec<u8>,
    /// `None` if no unit uses it.
    list: Option<&'l ListUse>,
}

impl List<'_, '_> {
    /// Writes a list, and returns the rest after it.
    fn convert<'d>(&mut self, mut input: Bytes<'d>) -> Result<Bytes<'d>, Problem> {
        const END: u8 = 0;
        let mut base = self.list.map_or(0, |list| list.base);
        loop {
            let whole = input;
            let raw = input.read_u8()?;
            // The kinds are the same but for the default location, which is the fifth of locations.
            let entry = match (self.kind, raw) {
                (Kind::Locations, 5) => Entry::Default,
                (Kind::Locations, 6..) => Entry::of(raw - 1)?,
                _ => Entry::of(raw)?,
            };
            if raw == END {
                self.out.push(raw);
                return Ok(input);
            }
            let size = self.list.map_or(4, |list| list.encoding.address_size);
            match entry {
                Entry::Base | Entry::StartEnd | Entry::StartLength => {
                    let start = address(&mut input, size)?;
                    self.out.push(raw);
                    let new = self.code.address(start).unwrap_or(start);
                    self.address(new, size)?;
                    match entry {
                        Entry::Base => base = start,
                        Entry::StartEnd => {
                            let end = address(&mut input, size)?;
                            let new = self.code.range(start, end).map_or(end, |range| range.1);
                            self.address(new, size)?;
                        }
                        _ => {
                            let length = input.read_uleb128()?;
                            let range = self.code.range(start, start.saturating_add(length));
                            leb128::write(self.out, range.map_or(length, |range| range.1 - range.0));
                        }
                    }
                }
                Entry::OffsetPair => {
                    let (begin, end) = (input.read_uleb128()?, input.read_uleb128()?);
                    let (begin, end) = offsets(self.code, base, begin, end).unwrap_or((begin, end));
                    self.out.push(raw);
                    leb128::write(self.out, begin);
                    leb128::write(self.out, end);
                }
                Entry::Basex | Entry::StartxEndx | Entry::StartxLength => {
                    let index = input.read_uleb128()?;
                    let start = self.indexed(index)?;
                    self.out.push(raw);
                    leb128::write(self.out, index);
                    match entry {
                        Entry::Basex => base = start.unwrap_or(0),
                        Entry::StartxEndx => {
                            let index = input.read_uleb128()?;
                            self.indexed(index)?;
                            leb128::write(self.out, index);
                        }
                        _ => {
                            let length = input.read_uleb128()?;
                            let range =
                                start.and_then(|start| self.code.range(start, start.saturating_add(length)));
                            leb128::write(self.out, range.map_or(length, |range| range.1 - range.0));
                        }
                    }
                }
                Entry::Default | Entry::End => self.out.push(raw),
            }
            if self.kind == Kind::Locations && !matches!(entry, Entry::Base | Entry::Basex) {
                let before = input;
                let length = input.read_uleb128()?;
                let expression = input.split(usize::try_from(length).map_err(|_| Problem::Reference)?)?;
                self.out.extend_from_slice(&before.slice()[..before.len() - input.len()]);
                if let Some(list) = self.list {
                    let at = self.out.len() - expression.len();
                    for patch in expressions::patches(expression, at, list.encoding, self.code.globals)? {
                        patch.put(&mut self.out[patch.at..patch.at + usize::from(patch.size)])?;
                    }
                }
            }
            debug_assert!(input.len() < whole.len());
        }
    }

    fn address(&mut self, address: u64, size: u8) -> Result<(), Problem> {
        let at = self.out.len();
        self.out.resize(at + usize::from(size), 0);
        Patch { at, size, leb: false, value: address }.put(&mut self.out[at..])
    }

    /// An address of the table; it is one of code.
    fn indexed(&mut self, index: u64) -> Result<Option<u64>, Problem> {
        let Some(list) = self.list else { return Ok(None) };
        let index = DebugAddrIndex(usize::try_from(index).map_err(|_| Problem::Reference)?);
        let (address, at) = address_at(self.dwarf, list.encoding.address_size, list.addresses, index)?;
        self.addresses.insert(at, list.encoding.address_size);
        Ok(Some(address))
    }
}

fn address(input: &mut Bytes<'_>, size: u8) -> Result<u64, Problem> {
    let bytes = input.split(size.into())?;
    number(bytes.slice(), 0, size).ok_or(Problem::Reference)
}

#[derive(Clone, Copy)]
enum Entry {
    End,
    Basex,
    StartxEndx,
    StartxLength,
    OffsetPair,
    Base,
    StartEnd,
    StartLength,
    Default,
}

impl Entry {
    /// As ranges count them.
    fn of(kind: u8) -> Result<Entry, Problem> {
        Ok(match kind {
            0 => Entry::End,
            1 => Entry::Basex,
            2 => Entry::StartxEndx,
            3 => Entry::StartxLength,
            4 => Entry::OffsetPair,
            5 => Entry::Base,
            6 => Entry::StartEnd,
            7 => Entry::StartLength,
            _ => return Err(Problem::Reference),
        })
    }
}
