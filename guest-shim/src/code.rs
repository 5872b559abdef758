//! The code of a table's functions: source lines, call sites, moved instructions and inlined calls.
//!
//! A table has the code of its functions after its source files, in the order of their ids:
//!
//! ```text
//! leb128   length of the code in bytes; 0 if it is unknown. Readers skip the bytes of later versions
//! leb128   1 + the class of its type if it may be called through a table or a reference, else 0
//! leb128   number of rows, in the order of their offsets; then for each:
//!   leb128   its offset in the body, minus the previous row's
//!   leb128   0: the place is unknown from here on; 1: the previous known file; else 2 + the file's number
//!   leb128   if the place is known: its line minus the previous known line (at first 0), as a zigzag number
//! leb128   number of call sites, in the order of their offsets; then for each:
//!   leb128   its offset, minus the previous site's
//!   leb128   its target: 0: any function; 2 * index + 2: one function; 2 * class + 1: any of a class
//! leb128   number of moves, in the order of both offsets; then for each:
//!   leb128   the offset in the rewritten module, minus the previous move's
//!   leb128   the offset in the original body, minus the previous move's
//! inlined  inlined calls, see [`inlined`]
//! ```
//!
//! Offsets are in bytes. Those in an original body count from its beginning, after its size.

mod inlined;

use crate::function::{FuncIndex, Source};
use crate::leb128;
pub use inlined::{Inlined, InlinedCall, InlinedFunction, MAX_INLINED, Region};
use std::fmt;

/// The code of a function, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCode {
    /// The class of its type, if it may be called through a table or a reference. An indirect call of a class
    /// may reach any of its functions.
    pub class: Option<u32>,
    /// The source lines of the instructions, ordered by offset.
    pub rows: Vec<Row>,
    /// The calls that it makes, ordered by offset. An instruction with several possible targets has an entry
    /// for each.
    pub sites: Vec<CallSite>,
    /// The new offsets of its code, ordered by both offsets.
    pub moves: Vec<Move>,
    /// The calls that a compiler has inlined in it.
    pub inlined: Inlined,
}

/// The place of the instructions from an offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The offset of the first instruction.
    pub offset: u32,
    /// The place; `None` if it isn't known.
    pub source: Option<Source>,
}

/// A call that a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSite {
    /// The offset of the call.
    pub offset: u32,
    /// What it calls.
    pub target: Target,
}

/// The possible targets of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Any function with a probe, directly or through functions without probes and host functions.
    Anything,
    /// This function.
    Function(FuncIndex),
    /// A function of this class.
    Class(u32),
}

/// An offset in the rewritten module, and the offset in the original body of the same instruction. The
/// instructions after it follow in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Counted from the beginning of the rewritten module.
    pub new: u32,
    /// Counted from the beginning of the original body.
    pub old: u32,
}

impl FunctionCode {
    /// Renumbers the source files. A place becomes unknown if `number` returns `None` for its file.
    #[must_use]
    pub fn with_files(mut self, number: impl Fn(u32) -> Option<u32>) -> FunctionCode {
        let rows = self.rows.iter_mut().map(|row| &mut row.source);
        for source in rows.chain(self.inlined.calls.iter_mut().map(|call| &mut call.source)) {
            *source = source.and_then(|source| Some(Source { file: number(source.file)?, ..source }));
        }
        self
    }

    /// Renumbers the inlined functions. Drops all inlined calls if `number` returns `None` for one of them.
    #[must_use]
    pub fn with_inlined(mut self, number: impl Fn(u32) -> Option<u32>) -> FunctionCode {
        let numbers: Option<Vec<u32>> = self.inlined.calls.iter().map(|call| number(call.function)).collect();
        match numbers {
            Some(numbers) => {
                self.inlined.calls.iter_mut().zip(numbers).for_each(|(call, number)| call.function = number);
            }
            None => self.inlined = Inlined::default(),
        }
        self
    }

    /// Whether nothing is known of the function.
    pub fn is_empty(&self) -> bool {
        *self == FunctionCode::default()
    }

    /// Where the instruction at an offset comes from.
    pub fn source(&self, offset: u32) -> Option<Source> {
        let after = self.rows.partition_point(|row| row.offset <= offset);
        self.rows.get(after.checked_sub(1)?)?.source
    }

    /// The offsets of the call sites that may call a function, ascending and without duplicates.
    pub fn sites_of(&self, index: FuncIndex, class: Option<u32>) -> Vec<u32> {
        let may = |target| match target {
            Target::Anything => true,
            Target::Function(function) => function == index,
            Target::Class(called) => class == Some(called),
        };
        let mut offsets: Vec<u32> =
            self.sites.iter().filter(|site| may(site.target)).map(|site| site.offset).collect();
        offsets.dedup();
        offsets
    }

    /// The offset in the original body for an offset in the rewritten module. Code inserted before an
    /// instruction has the offset of that instruction.
    pub fn original(&self, new: u32) -> Option<u32> {
        let after = self.moves.partition_point(|step| step.new <= new);
        let step = self.moves.get(after.checked_sub(1)?)?;
        let next = self.moves.get(after).map_or(u32::MAX, |next| next.old);
        Some(step.old.saturating_add(new - step.new).min(next))
    }

    fn write(&self, out: &mut Vec<u8>) {
        leb128::write(out, self.class.map_or(0, |class| u64::from(class) + 1));
        leb128::write(out, self.rows.len() as u64);
        let (mut offset, mut place) = (0, Source { file: u32::MAX, line: 0 });
        for row in &self.rows {
            leb128::write(out, u64::from(row.offset.saturating_sub(offset)));
            offset = row.offset.max(offset);
            let Some(source) = row.source else {
                out.push(0);
                continue;
            };
            leb128::write(out, if source.file == place.file { 1 } else { u64::from(source.file) + 2 });
            leb128::write(out, leb128::zigzag(i64::from(source.line) - i64::from(place.line)));
            place = source;
        }
        leb128::write(out, self.sites.len() as u64);
        let mut offset = 0;
        for site in &self.sites {
            leb128::write(out, u64::from(site.offset.saturating_sub(offset)));
            offset = site.offset.max(offset);
            let target = match site.target {
                Target::Anything => 0,
                Target::Function(index) => 2 * u64::from(index.0) + 2,
                Target::Class(class) => 2 * u64::from(class) + 1,
            };
            leb128::write(out, target);
        }
        leb128::write(out, self.moves.len() as u64);
        let (mut new, mut old) = (0, 0);
        for step in &self.moves {
            leb128::write(out, u64::from(step.new.saturating_sub(new)));
            leb128::write(out, u64::from(step.old.saturating_sub(old)));
            (new, old) = (step.new.max(new), step.old.max(old));
        }
        if !self.inlined.is_empty() {
            self.inlined.write(out);
        }
    }

    /// Reads the bytes that [`write`](Self::write) has written. On malformed bytes it keeps the fields read
    /// so far.
    fn read(&mut self, mut input: &[u8]) -> Option<()> {
        let mut number = || leb128::read(&mut input);
        let small = |number: u64| u32::try_from(number).ok();
        self.class = match number()? {
            0 => None,
            class => Some(small(class - 1)?),
        };
        let (mut offset, mut place) = (0u32, None);
        for _ in 0..number()? {
            offset = offset.checked_add(small(number()?)?)?;
            let file = number()?;
            let mut source = None;
            if file > 0 {
                let last: Source = place.unwrap_or(Source { file: u32::MAX, line: 0 });
                let line = i64::from(last.line).checked_add(leb128::unzigzag(number()?))?;
                let file = if file == 1 { last.file } else { small(file - 2)? };
                place = Some(Source { file, line: u32::try_from(line).ok()? });
                source = place;
            }
            self.rows.push(Row { offset, source });
        }
        let mut offset = 0u32;
        for _ in 0..number()? {
            offset = offset.checked_add(small(number()?)?)?;
            let target = match number()? {
                0 => Target::Anything,
                index if index % 2 == 0 => Target::Function(FuncIndex(small(index / 2 - 1)?)),
                class => Target::Class(small(class / 2)?),
            };
            self.sites.push(CallSite { offset, target });
        }
        let (mut new, mut old) = (0u32, 0u32);
        for _ in 0..number()? {
            new = new.checked_add(small(number()?)?)?;
            old = old.checked_add(small(number()?)?)?;
            self.moves.push(Move { new, old });
        }
        if !input.is_empty() {
            self.inlined.read(&mut input)?;
        }
        Some(())
    }
}

/// The code of the functions of a table, in the order of its symbols. It stays packed, because reports read
/// only a few functions of a large module.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Codes {
    bytes: Vec<u8>,
    /// The end of each function's bytes.
    ends: Vec<u32>,
}

impl fmt::Debug for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.ends.len()).map(|n| self.get(n))).finish()
    }
}

impl Codes {
    /// Whether nothing is known of any function.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Renumbers the source files and the inlined functions.
    #[must_use]
    pub fn renumbered(
        &self,
        file: impl Fn(u32) -> Option<u32>,
        inlined: impl Fn(u32) -> Option<u32>,
    ) -> Codes {
        let mut codes = Codes::default();
        (0..self.ends.len()).for_each(|n| codes.push(&self.get(n).with_files(&file).with_inlined(&inlined)));
        codes.or_none()
    }

    /// The code of all functions, in their order.
    pub fn iter(&self) -> impl Iterator<Item = FunctionCode> + '_ {
        (0..self.ends.len()).map(|n| self.get(n))
    }

    /// Drops the ends of functions if no function has code, so that it equals the codes of a table without
    /// code.
    #[must_use]
    pub fn or_none(self) -> Codes {
        if self.is_empty() { Codes::default() } else { self }
    }

    /// Its size in memory, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<u32>()
    }

    /// Adds the code of the next function.
    pub fn push(&mut self, code: &FunctionCode) {
        if !code.is_empty() {
            code.write(&mut self.bytes);
        }
        self.end_piece();
    }

    /// The code of the n-th symbol's function. Fields are unknown if their bytes are missing or malformed.
    pub fn get(&self, n: usize) -> FunctionCode {
        let start = n.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(n).copied());
        let bytes = range.and_then(|(start, end)| self.bytes.get(start as usize..end as usize));
        let mut code = FunctionCode::default();
        // Fields read before a malformed one are correct.
        let _ = code.read(bytes.unwrap_or_default());
        code
    }

    /// The packed code of each function.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| self.bytes.get(start as usize..end as usize).unwrap_or_default())
    }

    pub(crate) fn reserve(&mut self, functions: usize) {
        self.ends.reserve_exact(functions);
    }

    /// The buffer to which to append the packed code of the next function.
    pub(crate) fn next_piece(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn end_piece(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> FunctionCode {
        let row = |offset, file, line| Row { offset, source: Some(Source { file, line }) };
        let site = |offset, target| CallSite { offset, target };
        FunctionCode {
            class: Some(0),
            rows: vec![row(2, 0, 40), row(9, 0, 12), Row { offset: 11, source: None }, row(300, 7, 0)],
            sites: vec![
                site(4, Target::Function(FuncIndex(0))),
                site(4, Target::Anything),
                site(70, Target::Class(0)),
            ],
            moves: vec![Move { new: 1000, old: 0 }, Move { new: 1020, old: 2 }, Move { new: 1030, old: 8 }],
            inlined: Inlined {
                calls: vec![InlinedCall { caller: None, function: 2, source: None }],
                regions: vec![Region { offset: 70, call: Some(0) }],
            },
        }
    }

    #[test]
    fn code_survives_the_round_trip() {
        let mut codes = Codes::default();
        [code(), FunctionCode::default(), code()].iter().for_each(|code| codes.push(code));
        let mut read = Codes::default();
        for piece in codes.pieces() {
            read.next_piece().extend_from_slice(piece);
            read.end_piece();
        }
        assert_eq!(read, codes);
        assert_eq!((read.get(0), read.get(1).is_empty(), read.get(2)), (code(), true, code()));
        assert!(read.get(3).is_empty());
    }

    #[test]
    fn any_bytes_are_some_code() {
        let mut bytes = Vec::new();
        code().write(&mut bytes);
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = byte;
                let _ = FunctionCode::default().read(&broken);
                let _ = FunctionCode::default().read(&broken[..at]);
            }
        }
    }

    #[test]
    fn places_sites_and_moves_are_found() {
        let code = code();
        let line = |offset| code.source(offset).map(|source| source.line);
        assert_eq!([0, 2, 8, 9, 10, 11, 299, 300].map(line), {
            let (forty, twelve) = (Some(40), Some(12));
            [None, forty, forty, twelve, twelve, None, None, Some(0)]
        });
        assert_eq!(code.sites_of(FuncIndex(0), None), [4]);
        assert_eq!(code.sites_of(FuncIndex(9), Some(0)), [4, 70]);
        assert_eq!(code.sites_of(FuncIndex(9), Some(1)), [4]);
        // Bytes 1002 to 1020 were inserted before the instruction at 2.
        assert_eq!([999, 1000, 1001, 1019, 1020, 1029, 1031].map(|new| code.original(new)), {
            [None, Some(0), Some(1), Some(2), Some(2), Some(8), Some(9)]
        });
    }
}
