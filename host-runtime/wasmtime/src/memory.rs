//! A lane's memory: what the recorder writes and any thread may read. `kperf_abi::block` says what lies where.
//!
//! The recorder is compiled WebAssembly (in a [`SharedMemory`]) or Rust (in a memory of our own). It writes words first
//! and the position behind them last; what lies below the position is not touched again until the position is reset,
//! and that happens only while the lane's gate is held or by the recorder's own thread right after (see `core.rs`).
//! A recorder inside a module keeps its position to itself. Its block is full of marks when it begins, so that the first
//! one is behind its last word at any time: no reader depends on two words being seen at once.
#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use kperf_abi::block::{CAPACITY, CLOCK, END_MARK, HEADER_LEN, MEMORY_PAGES, POSITION, STACKS, START};
use kperf_abi::word::WIDE_TIME;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wasmtime::{Engine, MemoryType, SharedMemory};

/// Words in a memory. A power of two, so that a mask keeps addresses inside.
const LEN: usize = MEMORY_PAGES as usize * 65536 / 4;
const _: () = assert!(LEN.is_power_of_two() && LEN * 4 == START + CAPACITY);

/// Address of the first word of a block.
const FIRST: usize = START + HEADER_LEN;
/// Address of the last word of a block's header, the upper half of its time. It is written behind the rest.
const HEADER_END: u32 = FIRST as u32 - 4;
/// Address behind the last word of a block.
const BLOCK_END: u32 = (START + CAPACITY) as u32;
/// What no clock reaches.
const UNBEGUN: u32 = u32::MAX;
/// Address of the table of depths of the stacks that don't run.
const DEPTHS: usize = 1024;

pub(crate) struct LaneMemory {
    words: NonNull<[AtomicU32; LEN]>,
    owner: Owner,
    /// Whether marks stand behind the words, so that the position is only known while the recorder's own thread is here.
    marked: bool,
}

/// What `words` points into, and what keeps it there.
enum Owner {
    Shared(SharedMemory),
    Own { _words: Box<[AtomicU32]> },
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
    pub(crate) fn shared(memory: SharedMemory) -> LaneMemory {
        let data = memory.data();
        assert!(data.len() >= LEN * 4, "a memory of {MEMORY_PAGES} pages");
        let words = NonNull::from(data).cast();
        let memory = LaneMemory { words, owner: Owner::Shared(memory), marked: false };
        for word in memory.words().iter().take(FIRST / 4) {
            word.store(0, Ordering::Relaxed);
        }
        memory.clear();
        memory
    }

    /// The memory of a recorder inside an instance, which is about to begin. `None` if it is too small for one.
    pub(crate) fn of_instance(memory: SharedMemory) -> Option<LaneMemory> {
        (memory.data().len() >= LEN * 4).then(|| {
            let memory = LaneMemory { marked: true, ..LaneMemory::shared(memory) };
            memory.clear();
            memory
        })
    }

    /// Whether it is the memory of a recorder inside an instance.
    pub(crate) fn is_marked(&self) -> bool {
        self.marked
    }

    /// Whether it is this very memory.
    pub(crate) fn is(&self, memory: &SharedMemory) -> bool {
        std::ptr::eq(self.words.as_ptr().cast(), memory.data().as_ptr())
    }

    /// A memory for a recorder in Rust.
    pub(crate) fn own() -> LaneMemory {
        let words: Box<[AtomicU32]> = (0..LEN).map(|_| AtomicU32::new(0)).collect();
        let memory = LaneMemory {
            words: NonNull::from(&*words).cast(),
            owner: Owner::Own { _words: words },
            marked: false,
        };
        memory.clear();
        memory
    }

    /// The memory for the recorder module's import.
    pub(crate) fn import(&self) -> Option<&SharedMemory> {
        match &self.owner {
            Owner::Shared(memory) => Some(memory),
            Owner::Own { .. } => None,
        }
    }

    #[inline]
    fn words(&self) -> &[AtomicU32; LEN] {
        // SAFETY: `owner` holds that many words at this place for as long as it lives (a SharedMemory never moves, and
        // begins at a page), and whoever writes them at the same time is either an AtomicU32 too or compiled WebAssembly,
        // whose accesses to shared memory never tear a word.
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

    /// Writes a word of the block, which counts from the next [`set_position`](LaneMemory::set_position) on; where the end
    /// is marked, from now on.
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

    /// Empties the block, whatever is in it.
    fn clear(&self) {
        self.clear_below(BLOCK_END);
    }

    /// Empties a block with words up to an address.
    pub(crate) fn clear_below(&self, end: u32) {
        let end = end.clamp(FIRST as u32, BLOCK_END) as usize;
        if self.marked {
            const { assert!(END_MARK == u32::MAX) };
            // SAFETY: this is inside the words. The recorder waits for us or is us, and others read what is above the header
            // only while they hold the lane's gate. One atomic store a word would take ten times as long.
            unsafe { self.words.as_ptr().cast::<u8>().add(FIRST).write_bytes(0xff, end - FIRST) };
        }
        self.set_position(FIRST as u32);
    }

    /// Marks the block as not begun: its header is the last one's. The recorder unmarks it by writing the header.
    pub(crate) fn mark_unbegun(&self) {
        self.store(HEADER_END, UNBEGUN);
    }

    /// Whether the recorder has yet to begin a block.
    pub(crate) fn is_unbegun(&self) -> bool {
        u32::from_le(self.word(HEADER_END).load(Ordering::Acquire)) == UNBEGUN
    }

    /// How many frames of a stack that doesn't run are open.
    pub(crate) fn saved_depth(&self, stack: u32) -> u32 {
        self.load(DEPTHS as u32 + stack.min(STACKS - 1) * 4)
    }

    pub(crate) fn save_depth(&self, stack: u32, depth: u32) {
        self.store(DEPTHS as u32 + stack.min(STACKS - 1) * 4, depth);
    }

    /// Appends the block to `block`: its header and the words that are published. Only for whoever knows that the recorder
    /// doesn't begin another block meanwhile.
    pub(crate) fn copy_block(&self, block: &mut Vec<u8>) {
        let position = match self.marked {
            true => self.marked_end(),
            false => u32::from_le(self.word(POSITION as u32).load(Ordering::Acquire)),
        };
        self.copy_below(position, block);
    }

    /// Appends the block's header and the words below a position.
    pub(crate) fn copy_below(&self, position: u32, block: &mut Vec<u8>) {
        let position = position as usize / 4 * 4;
        if (FIRST..=START + CAPACITY).contains(&position) {
            self.copy(START, position - START, block);
        }
    }

    /// Where the words end, found by the mark behind them.
    fn marked_end(&self) -> u32 {
        let mut at = FIRST as u32;
        while at < BLOCK_END {
            at += match u32::from_le(self.word(at).load(Ordering::Acquire)) {
                END_MARK => return at,
                // Its two words may look like the mark.
                WIDE_TIME => 12,
                _ => 4,
            };
        }
        BLOCK_END
    }

    fn copy(&self, start: usize, length: usize, block: &mut Vec<u8>) {
        debug_assert!(start + length <= START + CAPACITY);
        block.reserve(length);
        // SAFETY: the source is inside the words (`copy_below` sees to it), the target was reserved. Nobody writes to the
        // source: a recorder writes at the position and above only. Byte-wise or word-wise atomics would be several times
        // as slow and are not needed without a concurrent write.
        unsafe {
            let from = self.words.as_ptr().cast::<u8>().add(start);
            std::ptr::copy_nonoverlapping(from, block.as_mut_ptr().add(block.len()), length);
            block.set_len(block.len() + length);
        }
    }
}

/// The time that a ticker renews, at the front of a memory that recorder modules can import.
pub(crate) struct TickerCell {
    time: NonNull<AtomicU64>,
    owner: CellOwner,
}

enum CellOwner {
    Shared(SharedMemory),
    /// Alone in its cache line: nobody else shall pay for the renewals.
    Own {
        _line: Box<Line>,
    },
}

#[repr(align(128))]
struct Line(AtomicU64);

// SAFETY: the time is an atomic in memory that `owner` keeps alive and in place; both owners are Send and Sync.
unsafe impl Send for TickerCell {}
// SAFETY: as above.
unsafe impl Sync for TickerCell {}

impl TickerCell {
    /// In shared memory where the engine has that, else only for host functions.
    pub(crate) fn new(engine: &Engine) -> TickerCell {
        match SharedMemory::new(engine, MemoryType::shared(1, 1)) {
            Ok(memory) => {
                TickerCell { time: NonNull::from(memory.data()).cast(), owner: CellOwner::Shared(memory) }
            }
            Err(_) => {
                let line = Box::new(Line(AtomicU64::new(0)));
                TickerCell { time: NonNull::from(&line.0), owner: CellOwner::Own { _line: line } }
            }
        }
    }

    /// The clock at the front of a lane's memory.
    pub(crate) fn of_lane(memory: &SharedMemory) -> TickerCell {
        let data = memory.data().get(CLOCK..).unwrap_or_default();
        debug_assert!(data.len() >= 8);
        TickerCell { time: NonNull::from(data).cast(), owner: CellOwner::Shared(memory.clone()) }
    }

    /// The memory for the recorder module's import.
    pub(crate) fn import(&self) -> Option<&SharedMemory> {
        match &self.owner {
            CellOwner::Shared(memory) => Some(memory),
            CellOwner::Own { .. } => None,
        }
    }

    #[inline]
    fn time(&self) -> &AtomicU64 {
        // SAFETY: `owner` holds it there; a memory begins at a page and has one page at least.
        unsafe { self.time.as_ref() }
    }

    /// The time, in ticks.
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        u64::from_le(self.time().load(Ordering::Relaxed))
    }

    /// Renews the time.
    #[inline]
    pub(crate) fn store(&self, ticks: u64) {
        self.time().store(ticks.to_le(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_copied_up_to_the_position() {
        let memory = LaneMemory::own();
        for (n, address) in (START as u32..START as u32 + 24).step_by(4).enumerate() {
            memory.store(address, n as u32);
        }
        let mut block = vec![7];
        memory.copy_block(&mut block);
        assert_eq!(block.len(), 1 + HEADER_LEN);
        memory.set_position(START as u32 + 20);
        block.clear();
        memory.copy_block(&mut block);
        let words: Vec<u32> =
            block.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("4"))).collect();
        assert_eq!(words, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_marked_end_is_found_behind_a_time_that_looks_like_it() {
        let memory = LaneMemory { marked: true, ..LaneMemory::own() };
        memory.clear();
        let copied = |memory: &LaneMemory| {
            let mut block = Vec::new();
            memory.copy_block(&mut block);
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
    fn a_position_that_no_recorder_writes_copies_nothing() {
        let memory = LaneMemory::own();
        for position in [0, 4096, 131_076, u32::MAX] {
            memory.set_position(position);
            let mut block = Vec::new();
            memory.copy_block(&mut block);
            assert!(block.is_empty(), "{position}");
        }
    }
}
