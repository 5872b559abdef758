//! Reused buffers between lanes and writer.

use kperf_abi::block::CAPACITY;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Free buffers for full blocks. The last one used is reused first: its memory is still cached.
pub(crate) struct Spare {
    buffers: Mutex<Vec<Vec<u8>>>,
    /// How many there are.
    count: AtomicUsize,
    most: AtomicUsize,
}

/// Smaller blocks get a buffer of their own size, so that a queue of many small blocks wastes no memory.
const SMALL: usize = CAPACITY / 4;
/// How many buffers are made before the first block comes. Their pages are touched here, on another processor than the
/// guest's: the first touch of a page costs more than filling it.
const WARM: usize = 16;
/// How many there may be if the queue is full.
const LEAST: usize = 4;

impl Spare {
    /// Buffers for a queue with room for so many bytes.
    pub(crate) fn new(room: usize) -> Spare {
        let most = AtomicUsize::new(room / CAPACITY + LEAST);
        Spare { buffers: Mutex::default(), count: AtomicUsize::new(0), most }
    }

    /// Makes some buffers.
    pub(crate) fn warm_up(&self) {
        for _ in 0..WARM.min(self.most.load(Ordering::Relaxed)) {
            // Nonzero, or the allocator would give untouched pages.
            self.put(vec![0xff; CAPACITY]);
        }
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer for a block of this length.
    pub(crate) fn take(&self, length: usize) -> Vec<u8> {
        if length < SMALL {
            return Vec::with_capacity(length);
        }
        let mut buffers = self.buffers();
        let spare = buffers.pop();
        self.count.store(buffers.len(), Ordering::Relaxed);
        drop(buffers);
        spare.unwrap_or_else(|| Vec::with_capacity(CAPACITY))
    }

    /// Takes a buffer back.
    pub(crate) fn put(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() < CAPACITY {
            return;
        }
        buffer.clear();
        let mut buffers = self.buffers();
        if buffers.len() < self.most.load(Ordering::Relaxed) {
            buffers.push(buffer);
            self.count.store(buffers.len(), Ordering::Relaxed);
        }
    }

    /// The queue has room for so many bytes now. Messages and free buffers together take no more than an empty queue has room for.
    pub(crate) fn set_room(&self, room: usize) {
        let most = room / CAPACITY + LEAST;
        self.most.store(most, Ordering::Relaxed);
        if self.count.load(Ordering::Relaxed) > most {
            let mut buffers = self.buffers();
            buffers.truncate(most);
            self.count.store(buffers.len(), Ordering::Relaxed);
        }
    }

    /// How much memory they take.
    pub(crate) fn bytes(&self) -> usize {
        self.count.load(Ordering::Relaxed) * CAPACITY
    }
}
