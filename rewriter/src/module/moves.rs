//! Maps code addresses of the original module to those of the rewritten one.
//!
//! - Addresses count from the start of the code section's content, as in DWARF.
//! - The map is monotonic, so nested ranges stay nested and disjoint ones disjoint.
//! - Code before an instruction belongs to the instruction before it, or to the start of the function.

use crate::module::info::BodyPlace;
use kperf_abi::Move;

/// The offsets at which the distance between the old and the new body changes, while the body is written.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The most steps that are kept. A body with more has no map. 0: no map is wanted.
    most: usize,
    /// Offsets in the old and in the new body.
    steps: Vec<(u32, u32)>,
    /// Whether the body has more steps.
    has_more: bool,
}

/// A body that has been written.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovedBody {
    /// Where its size begins, where the body begins, and where it ends, in the new code.
    size: u32,
    start: u32,
    end: u32,
    /// Whether its steps are complete.
    is_known: bool,
    steps: Box<[(u32, u32)]>,
}

/// The bodies of a module, in order.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    bodies: Vec<MovedBody>,
}

/// How far after the code an address may still be one of a removed function.
const MOST_BEHIND: u64 = 1 << 28;

impl Steps {
    pub(crate) fn new(most: usize) -> Steps {
        Steps { most, ..Steps::default() }
    }

    /// The instruction at offset `old` of the body comes to offset `new`.
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

    /// The body, of `length` bytes, with `in_front` bytes added before its instructions. Its size begins at `at` and
    /// takes `size` bytes.
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
    /// Adds bodies from a buffer that was copied to this offset of the code.
    pub(crate) fn add(&mut self, bodies: Vec<MovedBody>, at: usize) {
        self.bodies.extend(bodies.into_iter().map(|mut body| {
            for place in [&mut body.size, &mut body.start, &mut body.end] {
                *place = place.saturating_add(at as u32);
            }
            body
        }));
    }

    /// The new address; `None` if the address isn't one of code: linkers write 0 or all ones for removed functions.
    /// An end address belongs to the body before it. Addresses after all code stay as they are: Binaryen leaves such
    /// addresses of removed functions.
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
                // An address inside an instruction that is longer in the original.
                let next = moved.steps.get(behind).map_or(u32::MAX, |next| next.1);
                new.saturating_add(offset - old).min(next)
            }
            // An address of its locals.
            None => 0,
        };
        Some(u64::from(moved.start.saturating_add(new).min(moved.end)))
    }

    /// The moves of the n-th body, in a module whose code begins at `start`; empty if they are unknown.
    pub(crate) fn of(&self, n: usize, start: usize) -> Vec<Move> {
        let Some(body) = self.bodies.get(n).filter(|body| body.is_known) else { return Vec::new() };
        let first = (start as u32).saturating_add(body.start);
        let steps = body.steps.iter().map(|&(old, new)| Move { new: first.saturating_add(new), old });
        std::iter::once(Move { new: first, old: 0 }).chain(steps).collect()
    }

    /// The start of the body that contains an address.
    pub(crate) fn body(&self, old: u64, code: u64, bodies: &[BodyPlace]) -> Option<u64> {
        let at = code.checked_add(old)?;
        let n = bodies.partition_point(|body| u64::from(body.end) <= at);
        bodies.get(n).filter(|body| u64::from(body.start) <= at)?;
        Some(self.bodies.get(n)?.start.into())
    }
}
