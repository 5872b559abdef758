//! Finds the globals of an instance in memory.
//!
//! The engine keeps an instance's globals in one piece of memory, in their order, and tells nobody where. But it tells where it has
//! an exported function, and that begins with its code and the address of that piece. Two globals that no other can be mistaken for
//! show that what we found is right.
#![allow(unsafe_code)] // It reads what the engine keeps.

use kperf_abi::shadow::MARK;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::{AsContextMut, Func};

/// How many words a function takes: two addresses of code, a type, and the address of its instance.
const FUNCTION: usize = 4;
/// Where in a function the address of its instance is, in words.
const INSTANCE: usize = 3;
/// What an instance begins with.
const MAGIC: u32 = u32::from_le_bytes(*b"core");
/// How many words a global takes: it has room for a vector.
pub(crate) const GLOBAL: usize = 2;
/// No instance of the largest module is larger, in bytes.
const MOST: usize = 1 << 28;

/// The first of `counts` globals after the two that mark them, in the instance of a function that it defines and exports. `None` if
/// the engine keeps them in another way.
pub(crate) fn find(store: impl AsContextMut, function: &Func, counts: u32) -> Option<NonNull<AtomicU64>> {
    let function = NonNull::new(function.to_raw(store))?.cast::<usize>();
    let end = function.addr().get();
    if !end.is_multiple_of(align_of::<usize>()) {
        return None;
    }
    // SAFETY: a function of the engine's is at least that large.
    let words = unsafe { std::slice::from_raw_parts(function.as_ptr(), FUNCTION) };
    let start = words[INSTANCE];
    // The functions that an instance defines are behind its globals.
    let length = end.checked_sub(start).filter(|length| *length <= MOST && start.is_multiple_of(16))?;
    let instance = function.map_addr(|_| start.try_into().unwrap_or(std::num::NonZeroUsize::MIN));
    // SAFETY: an address that is as close before the function as an instance begins is that of the instance, and all between is its.
    let words = unsafe { std::slice::from_raw_parts(instance.cast::<AtomicU64>().as_ptr(), length / 8) };
    let is_instance = words.first()?.load(Ordering::Relaxed) as u32 == MAGIC;
    // Ours are the last globals.
    let marks = |place: &usize| {
        let word =
            |n: usize| words.get(place + n * GLOBAL).map(|word: &AtomicU64| word.load(Ordering::Relaxed));
        word(0) == Some(MARK[0]) && word(1) == Some(MARK[1])
    };
    let place = (0..words.len()).step_by(GLOBAL).rev().find(marks).filter(|_| is_instance)?;
    let first = place + MARK.len() * GLOBAL;
    let end = first.checked_add((counts as usize).checked_mul(GLOBAL)?)?;
    (end <= words.len()).then(|| NonNull::from(&words[first.min(words.len() - 1)]))
}
