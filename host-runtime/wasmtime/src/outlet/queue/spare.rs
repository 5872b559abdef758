//! Reused buffers between lanes and writer.

use kperf_abi::block::CAPACITY;
use std::sync::{Mutex, PoisonError};

/// Free buffers for full blocks. The last one used is reused first: its memory is still cached.
pub(crate) struct Spare {
    buffers: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

/// Smaller blocks get a buffer of their own size, so that a queue of many small blocks wastes no memory.
const SMALL: usize = CAPACITY / 4;
/// How many buffers are made before the first block comes. Their pages are touched here, on another processor than the
/// guest's: the first touch of a page costs more than filling it.
const WARM: usize = 16;

impl Spare {
    pub(crate) fn new(most: usize) -> Spare {
        Spare { buffers: Mutex::default(), most }
    }

    /// Makes some buffers.
    pub(crate) fn warm_up(&self) {
        for _ in 0..WARM.min(self.most) {
            // Nonzero, or the allocator would give untouched pages.
            self.put(vec![0xff; CAPACITY]);
        }
    }

    /// An empty buffer for a block of this length.
    pub(crate) fn take(&self, length: usize) -> Vec<u8> {
        if length < SMALL {
            return Vec::with_capacity(length);
        }
        let spare = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity(CAPACITY))
    }

    /// Takes a buffer back.
    pub(crate) fn put(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() < CAPACITY {
            return;
        }
        buffer.clear();
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < self.most {
            buffers.push(buffer);
        }
    }
}
