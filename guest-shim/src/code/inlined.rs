//! Calls that a compiler has inlined: the function in which each instruction of a body was written.
//!
//! A symbol table has them after the moves of a function:
//!
//! ```text
//! leb128   number of inlined calls; then for each, callers before what is inlined in them:
//!   leb128   0: inlined in the function itself; n: inlined in the n-th call before this one
//!   leb128   number of its function, in the table's list of inlined functions
//!   leb128   0: its place is unknown; 1: the previous known file; else 2 + the file's number
//!   leb128   if the place is known: its line minus the previous known line (at first 0), as a zigzag number
//! leb128   number of regions, in the order of their offsets; then for each:
//!   leb128   its offset, minus the previous region's
//!   leb128   0: the function's own instructions; else 1 + the number of their inlined call
//! ```

use crate::function::Source;
use crate::leb128;
use std::sync::Arc;

/// How deep inlined calls may nest. Deeper ones count for the call that has this depth.
pub const MAX_INLINED: usize = 128;

/// A function that is inlined in others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InlinedFunction {
    /// Its name for people. Not unique.
    pub name: Arc<str>,
    /// Where it is declared, if that is known.
    pub source: Option<Source>,
}

impl InlinedFunction {
    /// The same with its files numbered from `first`.
    #[must_use]
    pub fn with_files_from(self, first: u32) -> InlinedFunction {
        let moved =
            |source: Source| Some(Source { file: source.file.checked_add(first)?, line: source.line });
        InlinedFunction { source: self.source.and_then(moved), ..self }
    }
}

/// A call that was inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The inlined call that made it, with a smaller index; `None` if the function itself made it.
    pub caller: Option<u32>,
    /// The function, as an index into [`SymbolTable::inlined`](crate::SymbolTable::inlined).
    pub function: u32,
    /// Where the caller calls it, if that is known.
    pub source: Option<Source>,
}

/// The instructions from an offset on are of an inlined call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where the first of them is.
    pub offset: u32,
    /// The innermost call that they are of; `None`: they are the function's own.
    pub call: Option<u32>,
}

/// The inlined calls of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inlined {
    /// Callers before what is inlined in them.
    pub calls: Vec<InlinedCall>,
    /// In the order of their offsets.
    pub regions: Vec<Region>,
}

impl Inlined {
    /// Whether nothing was inlined, as far as it is known.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.regions.is_empty()
    }

    /// The calls that an instruction is in, the innermost first.
    pub fn at(&self, offset: u32) -> impl Iterator<Item = &InlinedCall> {
        let after = self.regions.partition_point(|region| region.offset <= offset);
        let region = after.checked_sub(1).and_then(|at| self.regions.get(at));
        let innermost = region.and_then(|region| region.call);
        // A caller with a larger index would make an endless loop.
        std::iter::successors(innermost, |&n| self.calls.get(n as usize)?.caller.filter(|&caller| caller < n))
            .map_while(|n| self.calls.get(n as usize))
            .take(MAX_INLINED)
    }

    /// The same for the instructions at these offsets only, which are in their order.
    #[must_use]
    pub fn only_at(&self, offsets: impl Iterator<Item = u32>) -> Inlined {
        let mut regions: Vec<Region> = Vec::new();
        for offset in offsets {
            let after = self.regions.partition_point(|region| region.offset <= offset);
            let call = after.checked_sub(1).and_then(|at| self.regions.get(at)?.call);
            if regions.last().map_or(call.is_some(), |last| last.call != call) {
                regions.push(Region { offset, call });
            }
        }
        Inlined { calls: self.calls.clone(), regions }.tidy()
    }

    /// Without calls that no instruction is of.
    #[must_use]
    pub fn tidy(self) -> Inlined {
        let Inlined { calls, mut regions } = self;
        let mut wanted = vec![false; calls.len()];
        for n in regions.iter().filter_map(|region| region.call) {
            wanted.get_mut(n as usize).into_iter().for_each(|wanted| *wanted = true);
        }
        for (n, call) in calls.iter().enumerate().rev() {
            if let (Some(true), Some(caller)) = (wanted.get(n), call.caller) {
                wanted.get_mut(caller as usize).into_iter().for_each(|wanted| *wanted = true);
            }
        }
        let mut numbers = vec![None; calls.len()];
        let mut kept = Vec::with_capacity(calls.len());
        let number = |numbers: &[Option<u32>], n: u32| numbers.get(n as usize).copied().flatten();
        for (n, mut call) in calls.into_iter().enumerate().filter(|&(n, _)| wanted[n]) {
            call.caller = call.caller.and_then(|caller| number(&numbers, caller));
            numbers[n] = Some(kept.len() as u32);
            kept.push(call);
        }
        regions.iter_mut().for_each(|region| region.call = region.call.and_then(|n| number(&numbers, n)));
        regions.dedup_by(|later, region| later.call == region.call);
        Inlined { calls: kept, regions }
    }

    /// Appends the bytes that a symbol table has of it.
    pub fn write(&self, out: &mut Vec<u8>) {
        leb128::write(out, self.calls.len() as u64);
        let mut place = Source { file: u32::MAX, line: 0 };
        for (call, n) in self.calls.iter().zip(0u32..) {
            let back = call.caller.map_or(0, |caller| n.saturating_sub(caller));
            leb128::write(out, back.into());
            leb128::write(out, call.function.into());
            let Some(source) = call.source else {
                out.push(0);
                continue;
            };
            leb128::write(out, if source.file == place.file { 1 } else { u64::from(source.file) + 2 });
            leb128::write(out, leb128::zigzag(i64::from(source.line) - i64::from(place.line)));
            place = source;
        }
        leb128::write(out, self.regions.len() as u64);
        let mut offset = 0;
        for region in &self.regions {
            leb128::write(out, u64::from(region.offset.saturating_sub(offset)));
            leb128::write(out, region.call.map_or(0, |call| u64::from(call) + 1));
            offset = region.offset.max(offset);
        }
    }

    /// What these bytes say, which [`write`](Self::write) has written.
    pub fn from_bytes(mut bytes: &[u8]) -> Inlined {
        let mut inlined = Inlined::default();
        // What was read before something that can't be is right.
        let _ = inlined.read(&mut bytes);
        inlined
    }

    /// Reads what [`write`](Self::write) has written, as far as it goes.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Option<()> {
        let mut number = || leb128::read(input);
        let small = |number: u64| u32::try_from(number).ok();
        let mut place = Source { file: u32::MAX, line: 0 };
        for n in 0..number()? {
            let n = small(n)?;
            let caller = match number()? {
                0 => None,
                back => Some(n.checked_sub(small(back)?)?),
            };
            let function = small(number()?)?;
            let file = number()?;
            let mut source = None;
            if file > 0 {
                let line = i64::from(place.line).checked_add(leb128::unzigzag(number()?))?;
                let file = if file == 1 { place.file } else { small(file - 2)? };
                place = Source { file, line: u32::try_from(line).ok()? };
                source = Some(place);
            }
            self.calls.push(InlinedCall { caller, function, source });
        }
        let mut offset = 0u32;
        for _ in 0..number()? {
            offset = offset.checked_add(small(number()?)?)?;
            let call = match number()? {
                0 => None,
                call => Some(small(call - 1)?),
            };
            self.regions.push(Region { offset, call });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined() -> Inlined {
        let call = |caller, function, source| InlinedCall { caller, function, source };
        let place = |line| Some(Source { file: 3, line });
        Inlined {
            calls: vec![
                call(None, 7, place(40)),
                call(Some(0), 1, None),
                call(None, 7, place(12)),
                call(Some(1), 0, Some(Source { file: 0, line: 9 })),
            ],
            regions: [(4, Some(0)), (6, Some(3)), (9, None), (20, Some(0))]
                .map(|(offset, call)| Region { offset, call })
                .to_vec(),
        }
    }

    #[test]
    fn they_survive_the_round_trip() {
        let mut bytes = Vec::new();
        inlined().write(&mut bytes);
        let (mut input, mut read) = (&bytes[..], Inlined::default());
        assert_eq!(read.read(&mut input), Some(()));
        assert_eq!((read, input.len()), (inlined(), 0));
        for length in 0..bytes.len() {
            assert_eq!(Inlined::default().read(&mut &bytes[..length]), None);
        }
    }

    #[test]
    fn the_calls_around_an_instruction_are_found() {
        let of = |inlined: &Inlined, offset| inlined.at(offset).map(|call| call.function).collect::<Vec<_>>();
        let chains = [0, 4, 5, 6, 8, 9, 19, 99].map(|offset| of(&inlined(), offset));
        let none = Vec::new();
        let whole = vec![0, 1, 7];
        assert_eq!(
            chains,
            [none.clone(), vec![7], vec![7], whole.clone(), whole, none.clone(), none, vec![7]]
        );
        // A call that is its own caller has no caller.
        let mut around = inlined();
        around.calls[1].caller = Some(3);
        around.calls[3].caller = Some(99);
        around.calls[0].caller = Some(0);
        assert_eq!(of(&around, 6), [0]);
        assert_eq!(of(&around, 4), [7]);
    }

    #[test]
    fn what_no_instruction_is_of_is_left_out() {
        let tidy = inlined().tidy();
        assert_eq!(tidy.calls.len(), 3);
        let at_call = inlined().only_at([5, 30].into_iter());
        assert_eq!(at_call.calls, inlined().calls[..1]);
        assert_eq!(at_call.regions, [Region { offset: 5, call: Some(0) }]);
        assert!(inlined().only_at([0, 10].into_iter()).is_empty());
    }
}
