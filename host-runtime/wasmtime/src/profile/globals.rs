//! Finds the globals of an instance in memory.
//!
//! The engine keeps an instance's globals in one piece of memory, in their order, and tells nobody where. But it tells where it has
//! a function that the instance exports, and that has the addresses of its code and of that piece. It is the right one if the code is
//! the module's, if it begins as instances do, and if it has two globals that no other can be mistaken for.
#![allow(unsafe_code)] // It reads what the engine keeps.

use super::native::Code;
use kperf_abi::shadow::MARK;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::{AsContextMut, Func};

/// How many words a function takes: two addresses of code, a type, and the address of its instance.
const FUNCTION: usize = 4;
/// Where in a function the address of its code and that of its instance are, in words.
const CODE: usize = 1;
const INSTANCE: usize = 3;
/// What an instance begins with.
const MAGIC: u32 = u32::from_le_bytes(*b"core");
/// How many words a global takes: it has room for a vector.
pub(crate) const GLOBAL: usize = 2;
/// No instance of the largest module is larger, in bytes.
const MOST: usize = 1 << 28;

/// An instance in memory, from its beginning to one of its functions, which are behind its globals.
pub(crate) struct InstanceMemory<'a>(&'a [AtomicU64]);

impl<'a> InstanceMemory<'a> {
    /// The instance of a function that it exports. `None` if the function isn't in this code, as one of the host's, or if the engine
    /// keeps instances in another way.
    ///
    /// # Safety
    ///
    /// The instance must define the function, not import it, and its store must live as long as this.
    pub(crate) unsafe fn of(
        store: impl AsContextMut,
        function: &Func,
        code: &Code,
    ) -> Option<InstanceMemory<'a>> {
        let function = NonNull::new(function.to_raw(store))?.cast::<usize>();
        let end = function.addr().get();
        if !end.is_multiple_of(align_of::<usize>()) {
            return None;
        }
        // SAFETY: a function of the engine's is at least that large.
        let words = unsafe { std::slice::from_raw_parts(function.as_ptr(), FUNCTION) };
        code.at(words[CODE])?;
        let start = NonZeroUsize::new(words[INSTANCE]).filter(|start| start.get().is_multiple_of(16))?;
        let length = end.checked_sub(start.get()).filter(|length| (8..=MOST).contains(length))?;
        let first = function.map_addr(|_| start).cast::<AtomicU64>();
        // SAFETY: a function of wasm has the address of its instance, which has its magic there.
        let magic = unsafe { first.as_ref() }.load(Ordering::Relaxed) as u32;
        // All instances of a module have a function at the same place, and one that imports it elsewhere.
        // SAFETY: so an instance that defines the function has it inside, and all between is the instance's.
        (magic == MAGIC && code.has_functions_at(length))
            .then(|| InstanceMemory(unsafe { std::slice::from_raw_parts(first.as_ptr(), length / 8) }))
    }

    /// The first of `counts` globals after the two that mark them; `None` if they aren't there.
    pub(crate) fn counts(&self, counts: u32) -> Option<NonNull<AtomicU64>> {
        let word = |place: usize| self.0.get(place).map(|word| word.load(Ordering::Relaxed));
        let marks = |place: &usize| [word(*place), word(place + GLOBAL)] == MARK.map(Some);
        // Ours are the last globals.
        let place = (0..self.0.len()).step_by(GLOBAL).rev().find(marks)?;
        let first = place + MARK.len() * GLOBAL;
        let end = first.checked_add((counts as usize).checked_mul(GLOBAL)?)?;
        self.0.get(first..end).and_then(|counts| Some(NonNull::from(counts.first()?)))
    }
}
