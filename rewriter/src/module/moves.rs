//! Where the code of a module has come to: from addresses in the original to addresses in the rewritten module. Both are
//! counted from the beginning of the code section's content, as DWARF does.
//!
//! The map never turns two addresses around, so ranges that were nested, or apart, stay so. What is put in front of an
//! instruction belongs to the one before it, or to the beginning of the function.

use crate::module::info::BodyPlace;
use kperf_abi::Move;

/// Where the instructions of a body have come to, while it is written.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// How many are kept. In a body with more of them nothing is known. 0: nobody wants to know.
    most: usize,
    /// Offsets in the old and in the new body, where their distance changes.
    steps: Vec<(u32, u32)>,
    /// Whether there are more.
    has_more: bool,
}

/// A body that was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovedBody {
    /// Where its size stands, where it begins, and where it ends, in the new code.
    size: u32,
    start: u32,
    end: u32,
    /// Whether the steps are known.
    is_known: bool,
    steps: Box<[(u32, u32)]>,
}

/// The bodies of a module, in their order.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    bodies: Vec<MovedBody>,
}

/// How far behind the code addresses are that may have been some.
const MOST_BEHIND: u64 = 1 << 28;

impl Steps {
    pub(crate) fn new(most: usize) -> Steps {
        Steps { most, ..Steps::default() }
    }

    /// The instruction at the offset `old` of the body will stand at `new`.
    #[inline]
    pub(crate) fn pass(&mut self, old: usize, new: usize) {
        if self.most == 0 || self.has_more {
            return;
        }
        let (old, new) = (old as u32, new as u32);
        if self.steps.last().is_none_or(|&(last_old, last_new)| new.wrapping_sub(last_new) != old - last_old)
        {
            if self.steps.len() >= self.most {
                self.steps = Vec::new();
                self.has_more = true;
                return;
            }
            self.steps.push((old, new));
        }
    }

    /// The body, of `length` bytes, before whose instructions `in_front` bytes were put afterwards; `at` is where its size
    /// begins, which takes `size` bytes.
    pub(crate) fn written(
        mut self,
        in_front: usize,
        at: usize,
        size: usize,
        length: usize,
    ) -> Option<MovedBody> {
        self.steps.iter_mut().for_each(|step| step.1 = step.1.saturating_add(in_front as u32));
        let (at, start) = (at as u32, (at + size) as u32);
        let (end, is_known) = (start + length as u32, !self.has_more);
        (self.most > 0).then(|| MovedBody { size: at, start, end, is_known, steps: self.steps.into() })
    }
}

impl Moves {
    /// Adds bodies that were written into a buffer, which came to stand at this offset of the code.
    pub(crate) fn add(&mut self, bodies: Vec<MovedBody>, at: usize) {
        self.bodies.extend(bodies.into_iter().map(|mut body| {
            for place in [&mut body.size, &mut body.start, &mut body.end] {
                *place = place.saturating_add(at as u32);
            }
            body
        }));
    }

    /// Where an address has come to; `None` if it is none: linkers leave 0 or all ones where a function was removed. An end
    /// is that of the body before. What is behind all code stays so: Binaryen leaves such addresses of functions that it
    /// removed.
    pub(crate) fn address(&self, old: u64, code: u64, bodies: &[BodyPlace]) -> Option<u64> {
        let at = code.checked_add(old).filter(|_| old > 0)?;
        let n = bodies.partition_point(|body| u64::from(body.end) < at);
        let (Some(body), Some(moved)) = (bodies.get(n), self.bodies.get(n)) else {
            let behind = at - u64::from(bodies.last()?.end);
            return (behind < MOST_BEHIND).then_some(u64::from(self.bodies.last()?.end) + behind);
        };
        let Some(offset) = at.checked_sub(body.start.into()) else {
            return Some(moved.size.into());
        };
        if at == u64::from(body.end) {
            return Some(moved.end.into());
        }
        let offset = offset as u32;
        let behind = moved.steps.partition_point(|&(old, _)| old <= offset);
        let new = match behind.checked_sub(1).and_then(|last| moved.steps.get(last)) {
            Some(&(old, new)) => {
                // An address within an instruction that is longer in the original.
                let next = moved.steps.get(behind).map_or(u32::MAX, |next| next.1);
                new.saturating_add(offset - old).min(next)
            }
            // Its locals.
            None => 0,
        };
        Some(u64::from(moved.start.saturating_add(new).min(moved.end)))
    }

    /// Where the code of the n-th body has come to, in a module whose code begins at `start`; nothing if it isn't
    /// known.
    pub(crate) fn of(&self, n: usize, start: usize) -> Vec<Move> {
        let Some(body) = self.bodies.get(n).filter(|body| body.is_known) else { return Vec::new() };
        let first = (start as u32).saturating_add(body.start);
        let steps = body.steps.iter().map(|&(old, new)| Move { new: first.saturating_add(new), old });
        std::iter::once(Move { new: first, old: 0 }).chain(steps).collect()
    }

    /// Where the body begins that has an address.
    pub(crate) fn body(&self, old: u64, code: u64, bodies: &[BodyPlace]) -> Option<u64> {
        let at = code.checked_add(old)?;
        let n = bodies.partition_point(|body| u64::from(body.end) <= at);
        bodies.get(n).filter(|body| u64::from(body.start) <= at)?;
        Some(self.bodies.get(n)?.start.into())
    }
}
