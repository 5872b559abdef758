//! A lane's memory: the recorder writes it, any thread may read it. `kperf_abi::block` defines its layout.
//!
//! * The recorder is compiled WebAssembly (in a [`SharedMemory`]) or Rust (in a memory of our own). It writes words first
//!   and then the position after them. Words below the position stay until the position is reset, which happens only while the
//!   lane's gate is held, or by the recorder's own thread right after (see `core.rs`).
//! * A recorder inside a module keeps its position to itself. Its block is full of marks when it begins, so the first
//!   mark always follows its last word: no reader depends on two words being seen at once.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use crate::clock::cell::TickerCell;
use crate::outlet::memory_use::{Grant, MemoryUse};
use kperf_abi::block::{BEGUN, CAPACITY, END_MARK, HEADER_LEN, LOST, MEMORY_PAGES, POSITION, STACKS, START};
use kperf_abi::word::WIDE_TIME;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use wasmtime::{Engine, MemoryType, SharedMemory};

/// Words in a memory. A power of two, so that a mask keeps addresses inside.
const LEN: usize = MEMORY_PAGES as usize * 65536 / 4;
const _: () = assert!(LEN.is_power_of_two() && LEN * 4 == START + CAPACITY);

/// How much memory of the recording's a memory takes that others may fill.
pub(crate) const BYTES: usize = LEN * 4;
/// How much a memory of our own takes at first. The rest of its pages is not touched.
const BYTES_AT_FIRST: usize = 16 << 10;
/// An event begins so far before the end of a block: see `recorder.wat`.
const RESERVE: usize = 28;
/// Where the last event of a full block may begin.
const LAST_START: u32 = (START + CAPACITY - RESERVE) as u32;

/// Address of the first word of a block.
const FIRST: usize = START + HEADER_LEN;
/// Address of the last word of a block's header, the upper half of its time. It is written after the rest.
const HEADER_END: u32 = FIRST as u32 - 4;
/// Address after the last word of a block.
const BLOCK_END: u32 = (START + CAPACITY) as u32;
/// A time that no clock reaches.
const UNBEGUN: u32 = u32::MAX;
/// Address of the table of depths of the stacks that don't run.
const DEPTHS: usize = 1024;

pub(crate) struct LaneMemory {
    words: NonNull<[AtomicU32; LEN]>,
    owner: Owner,
    end: End,
    /// No stack from this number on has run, as far as the host knows.
    stacks: AtomicU32,
    /// Where the last event of its block may begin.
    last_start: AtomicU32,
    pub(crate) grant: Grant,
}

/// The owner of the memory that `words` points into.
enum Owner {
    Shared(SharedMemory),
    Own {
        _words: OwnWords,
    },
    /// The memory of a recorder in a component.
    Component,
}

/// Words that are freed when this is dropped. It is no `Box`: that would be the only way to them.
struct OwnWords(NonNull<[AtomicU32; LEN]>);

impl OwnWords {
    fn new() -> OwnWords {
        // The allocator has zeroed pages.
        let words: Box<[u32]> = vec![0; LEN].into_boxed_slice();
        OwnWords(NonNull::from(Box::leak(words)).cast())
    }
}

impl Drop for OwnWords {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`; an AtomicU32 has the layout of a u32. No other reference is left.
        drop(unsafe { Box::from_raw(self.0.as_ptr().cast::<[u32; LEN]>()) });
    }
}

/// How the end of a block's words is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The position in the memory.
    Position,
    /// The marks after them.
    Marks,
    /// Whichever comes first. On processors other than x86 another thread may see the position before the words below it, as
    /// compiled WebAssembly writes them without order.
    Both,
}

impl End {
    /// For a recorder module's memory.
    const OF_MODULE: End = if cfg!(target_arch = "x86_64") { End::Position } else { End::Both };
}

// SAFETY: the words are atomics in memory that `owner` keeps alive and in place; both owners are Send and Sync.
unsafe impl Send for LaneMemory {}
// SAFETY: as above.
unsafe impl Sync for LaneMemory {}

impl LaneMemory {
    /// A new memory that the recorder module can import.
    pub(crate) fn new_shared(engine: &Engine) -> wasmtime::Result<SharedMemory> {
        SharedMemory::new(engine, MemoryType::shared(MEMORY_PAGES, MEMORY_PAGES))
    }

    /// A memory that [`LaneMemory::new_shared`] made, for a recorder that starts anew.
    pub(crate) fn shared(memory: SharedMemory, grant: Grant) -> LaneMemory {
        let data = memory.data();
        assert!(data.len() >= LEN * 4, "a memory of {MEMORY_PAGES} pages");
        let words = NonNull::from(data).cast();
        let end = End::OF_MODULE;
        let memory = LaneMemory {
            words,
            owner: Owner::Shared(memory),
            end,
            stacks: AtomicU32::new(STACKS),
            last_start: AtomicU32::new(LAST_START),
            grant,
        };
        for word in memory.words().iter().take(FIRST / 4) {
            word.store(0, Ordering::Relaxed);
        }
        memory.clear();
        memory
    }

    /// The memory of a recorder inside an instance, which is about to begin. `None` if it is too small for one.
    pub(crate) fn of_instance(memory: SharedMemory, grant: Grant) -> Option<LaneMemory> {
        (memory.data().len() >= LEN * 4).then(|| {
            let memory = LaneMemory { end: End::Marks, ..LaneMemory::shared(memory, grant) };
            memory.clear();
            memory
        })
    }

    /// The memory of a recorder in a component, which is about to begin.
    ///
    /// # Safety
    ///
    /// `MEMORY_PAGES` pages are at the address, and stay until the lane is closed and retired. Until then only the recorder
    /// and we write to them.
    pub(crate) unsafe fn of_component(address: NonNull<u8>, grant: Grant) -> LaneMemory {
        let memory = LaneMemory {
            words: address.cast(),
            owner: Owner::Component,
            end: End::Marks,
            stacks: AtomicU32::new(0),
            last_start: AtomicU32::new(LAST_START),
            grant,
        };
        memory.clear();
        memory
    }

    /// The clock at the front of it, if the recorder reads that.
    pub(crate) fn clock(&self) -> Option<TickerCell> {
        match &self.owner {
            Owner::Shared(memory) => self.is_marked().then(|| TickerCell::of_lane(memory)),
            Owner::Own { .. } => None,
            // SAFETY: a lane gives its cells back before it is retired, and until then the memory is there.
            Owner::Component => Some(unsafe { TickerCell::of_component(self.words.cast()) }),
        }
    }

    /// The host's call of a component begins.
    pub(crate) fn note_begun(&self, ticks: u64) {
        self.store(BEGUN as u32, ticks as u32);
        self.store(BEGUN as u32 + 4, (ticks >> 32) as u32);
    }

    /// Whether it is the memory of a recorder inside an instance.
    pub(crate) fn is_marked(&self) -> bool {
        self.end == End::Marks
    }

    /// Whether it is the same memory.
    pub(crate) fn is(&self, memory: &SharedMemory) -> bool {
        std::ptr::eq(self.words.as_ptr().cast(), memory.data().as_ptr())
    }

    /// Events that the recorder of a component has lost and not yet reported.
    pub(crate) fn lost(&self) -> u64 {
        let [low, high] = [LOST, LOST + 4].map(|address| u64::from(self.load(address as u32)));
        low | high << 32
    }

    /// Whether it lies at this address.
    pub(crate) fn is_at(&self, address: usize) -> bool {
        self.words.as_ptr().addr() == address
    }

    /// A memory for a recorder in Rust; `None` if there is no room for it.
    pub(crate) fn own(memory: &Arc<MemoryUse>) -> Option<LaneMemory> {
        Some(LaneMemory::own_with(memory.grant(BYTES_AT_FIRST)?))
    }

    /// One for a lane that records nothing.
    pub(crate) fn unused(memory: &Arc<MemoryUse>) -> LaneMemory {
        LaneMemory::own_with(memory.nothing())
    }

    fn own_with(grant: Grant) -> LaneMemory {
        let words = OwnWords::new();
        let memory = LaneMemory {
            words: words.0,
            owner: Owner::Own { _words: words },
            end: End::Position,
            stacks: AtomicU32::new(0),
            last_start: AtomicU32::new((BYTES_AT_FIRST - RESERVE) as u32),
            grant,
        };
        memory.clear();
        memory
    }

    /// Where the last event of its block may begin.
    #[inline]
    pub(crate) fn last_start(&self) -> u32 {
        self.last_start.load(Ordering::Relaxed)
    }

    /// Makes the block of a memory of our own twice as long, if there is room. Called by its recorder.
    pub(crate) fn grow(&self) -> bool {
        let last_start = self.last_start();
        let now = last_start as usize + RESERVE;
        let then = (now * 2).min(BYTES);
        let is_granted = last_start < LAST_START && self.grant.grow(then - now);
        if is_granted {
            self.last_start.store((then - RESERVE) as u32, Ordering::Relaxed);
        }
        is_granted
    }

    /// Clears a memory of our own for another recorder.
    pub(crate) fn renew(&self) {
        for stack in 0..self.stacks.swap(0, Ordering::Relaxed) {
            self.store(DEPTHS as u32 + stack * 4, 0);
        }
        (START..FIRST).step_by(4).for_each(|address| self.store(address as u32, 0));
        self.clear();
    }

    /// The memory for the recorder module's import.
    pub(crate) fn import(&self) -> Option<&SharedMemory> {
        match &self.owner {
            Owner::Shared(memory) => Some(memory),
            Owner::Own { .. } | Owner::Component => None,
        }
    }

    #[inline]
    fn words(&self) -> &[AtomicU32; LEN] {
        // SAFETY: `owner` holds that many words at this place for as long as it lives (a SharedMemory never
        // moves, and begins at a page). Concurrent writers use an AtomicU32 too, or are compiled WebAssembly,
        // which never tears a word of shared memory.
        unsafe { self.words.as_ref() }
    }

    #[inline]
    fn word(&self, address: u32) -> &AtomicU32 {
        &self.words()[address as usize / 4 % LEN]
    }

    /// The word at an address.
    #[inline]
    pub(crate) fn load(&self, address: u32) -> u32 {
        u32::from_le(self.word(address).load(Ordering::Relaxed))
    }

    /// Writes a word of the block. It counts after the next [`set_position`](LaneMemory::set_position), or at once if the end
    /// is marked.
    #[inline]
    pub(crate) fn put(&self, address: u32, word: u32) {
        self.word(address).store(word.to_le(), Ordering::Release);
    }

    /// Writes the word at an address.
    #[inline]
    pub(crate) fn store(&self, address: u32, word: u32) {
        self.word(address).store(word.to_le(), Ordering::Relaxed);
    }

    /// Where the next word goes.
    #[inline]
    pub(crate) fn position(&self) -> u32 {
        self.load(POSITION as u32)
    }

    /// Publishes what was written below `position`.
    #[inline]
    pub(crate) fn set_position(&self, position: u32) {
        self.word(POSITION as u32).store(position.to_le(), Ordering::Release);
    }

    /// Clears the whole block.
    fn clear(&self) {
        self.clear_below(BLOCK_END);
    }

    /// Empties a block with words up to an address.
    pub(crate) fn clear_below(&self, end: u32) {
        let end = end.clamp(FIRST as u32, BLOCK_END) as usize;
        if self.end != End::Position {
            const { assert!(END_MARK == u32::MAX) };
            // SAFETY: this is inside the words. The recorder waits for us or is us, and others read only while they hold the
            // lane's gate, as we do. One atomic store a word would take ten times as long.
            unsafe { self.words.as_ptr().cast::<u8>().add(FIRST).write_bytes(0xff, end - FIRST) };
        }
        self.set_position(FIRST as u32);
    }

    /// Marks the block as not begun: its header is the last one's. The recorder unmarks it by writing the header.
    pub(crate) fn mark_unbegun(&self) {
        if self.end == End::Both {
            [0, 4].into_iter().for_each(|at| self.store(START as u32 + at, UNBEGUN));
        }
        self.store(HEADER_END, UNBEGUN);
    }

    /// Whether the recorder has not begun a block.
    pub(crate) fn is_unbegun(&self) -> bool {
        let is_mark = |address| u32::from_le(self.word(address).load(Ordering::Acquire)) == UNBEGUN;
        is_mark(HEADER_END)
            || self.end == End::Both && [0, 4].into_iter().any(|at| is_mark(START as u32 + at))
    }

    /// How many frames of a stack that doesn't run are open.
    pub(crate) fn saved_depth(&self, stack: u32) -> u32 {
        self.load(DEPTHS as u32 + stack.min(STACKS - 1) * 4)
    }

    pub(crate) fn save_depth(&self, stack: u32, depth: u32) {
        let stack = stack.min(STACKS - 1);
        self.stacks.fetch_max(stack + 1, Ordering::Relaxed);
        self.store(DEPTHS as u32 + stack * 4, depth);
    }

    /// The stacks that don't run and have frames open, with how many.
    pub(crate) fn saved_depths(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let stacks = self.stacks.load(Ordering::Relaxed);
        (0..stacks).map(|stack| (stack, self.saved_depth(stack))).filter(|(_, depth)| *depth > 0)
    }

    /// The address after the block's last word. The recorder must not begin another block meanwhile.
    pub(crate) fn end(&self) -> u32 {
        self.end_from(FIRST as u32)
    }

    /// The same, if a word begins at this address.
    pub(crate) fn end_from(&self, from: u32) -> u32 {
        let position = || u32::from_le(self.word(POSITION as u32).load(Ordering::Acquire));
        match self.end {
            End::Position => position(),
            End::Marks => self.marked_end(from, BLOCK_END),
            End::Both => self.marked_end(from, position()),
        }
    }

    /// Appends the block's header and the words before `position` to `block`. The recorder may run meanwhile
    /// and turn the last word into a leaf.
    pub(crate) fn copy_words(&self, position: u32, block: &mut Vec<u8>) {
        if position as usize >= FIRST {
            self.copy_words_from(START as u32, position, block);
        }
    }

    /// The same without the header and the words before `from`.
    pub(crate) fn copy_words_from(&self, from: u32, position: u32, block: &mut Vec<u8>) {
        let words = self.words().get(from as usize / 4..position as usize / 4).unwrap_or_default();
        block.extend(words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()));
    }

    /// [`copy_words`](LaneMemory::copy_words) for the recorder's own thread, which does nothing else meanwhile.
    pub(crate) fn copy_below(&self, position: u32, block: &mut Vec<u8>) {
        self.copy_below_from(START as u32, position, block);
    }

    /// The same without the header and the words before `from`.
    pub(crate) fn copy_below_from(&self, from: u32, position: u32, block: &mut Vec<u8>) {
        let (from, position) = (from as usize / 4 * 4, position as usize / 4 * 4);
        if (FIRST..=START + CAPACITY).contains(&position) && (START..=position).contains(&from) {
            self.copy(from, position - from, block);
        }
    }

    /// The end of the words from one address to another, found by the mark after them.
    fn marked_end(&self, from: u32, below: u32) -> u32 {
        let below = below.min(BLOCK_END);
        let mut at = from.max(FIRST as u32);
        while at < below {
            at += match u32::from_le(self.word(at).load(Ordering::Acquire)) {
                END_MARK => return at,
                // Its two words may look like the mark.
                WIDE_TIME => 12,
                _ => 4,
            };
        }
        below
    }

    fn copy(&self, start: usize, length: usize, block: &mut Vec<u8>) {
        debug_assert!(start + length <= START + CAPACITY);
        block.reserve(length);
        // SAFETY: the source is inside the words (`copy_below_from` checks), the target was reserved. No thread writes to the
        // source: the recorder waits for us. Atomics would be several times as slow.
        unsafe {
            let from = self.words.as_ptr().cast::<u8>().add(start);
            std::ptr::copy_nonoverlapping(from, block.as_mut_ptr().add(block.len()), length);
            block.set_len(block.len() + length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_memory() -> LaneMemory {
        LaneMemory::own(&MemoryUse::new(BYTES)).expect("there is room")
    }

    #[test]
    fn a_block_is_copied_up_to_the_position() {
        let memory = own_memory();
        for (n, address) in (START as u32..START as u32 + 24).step_by(4).enumerate() {
            memory.store(address, n as u32);
        }
        let mut block = vec![7];
        memory.copy_words(memory.end(), &mut block);
        assert_eq!(block.len(), 1 + HEADER_LEN);
        memory.set_position(START as u32 + 20);
        block.clear();
        memory.copy_words(memory.end(), &mut block);
        assert_eq!(block, [0_u32, 1, 2, 3, 4].map(u32::to_le_bytes).concat());
    }

    #[test]
    fn a_marked_end_is_found_behind_a_time_that_looks_like_it() {
        let memory = LaneMemory { end: End::Marks, ..own_memory() };
        memory.clear();
        let copied = |memory: &LaneMemory| {
            let mut block = Vec::new();
            memory.copy_words(memory.end(), &mut block);
            block.len() - HEADER_LEN
        };
        assert_eq!(copied(&memory), 0);
        memory.put(FIRST as u32, 7);
        assert_eq!(copied(&memory), 4);
        for (n, word) in [WIDE_TIME, u32::MAX, u32::MAX, 7].into_iter().enumerate() {
            memory.put(FIRST as u32 + 4 + 4 * n as u32, word);
        }
        assert_eq!(copied(&memory), 20);
    }

    #[test]
    fn words_that_are_seen_after_their_position_are_left_out() {
        let memory = LaneMemory { end: End::Both, ..own_memory() };
        memory.clear();
        memory.put(FIRST as u32, 7);
        memory.put(FIRST as u32 + 8, 9);
        for (words, expected) in [(0, 0), (1, 1), (3, 1)] {
            memory.set_position(FIRST as u32 + 4 * words);
            assert_eq!(memory.end(), FIRST as u32 + 4 * expected);
        }
        assert!(!memory.is_unbegun());
        memory.mark_unbegun();
        memory.store(HEADER_END, 1);
        assert!(memory.is_unbegun(), "the time is there, the depth isn't");
    }

    #[test]
    fn a_memory_that_is_used_again_is_empty() {
        let memory = own_memory();
        memory.save_depth(5, 9);
        (START..START + HEADER_LEN).step_by(4).for_each(|address| memory.store(address as u32, 3));
        memory.set_position(FIRST as u32 + 400);
        assert_eq!(memory.saved_depths().collect::<Vec<_>>(), [(5, 9)]);
        memory.renew();
        let mut block = Vec::new();
        memory.copy_words(memory.end(), &mut block);
        assert_eq!((memory.saved_depths().count(), memory.saved_depth(5)), (0, 0));
        assert_eq!(block, [0; HEADER_LEN]);
    }

    #[test]
    fn a_position_that_no_recorder_writes_copies_nothing() {
        let memory = own_memory();
        for position in [0, 4096, 131_076, u32::MAX] {
            memory.set_position(position);
            let mut block = Vec::new();
            memory.copy_below(position, &mut block);
            memory.copy_words(memory.end(), &mut block);
            assert!(block.is_empty(), "{position}");
        }
    }
}
