//! Bytes of a file that may be damaged: buffered, and searched for the next chunk.

use crate::chunk::{HEADER_LEN, SYNC};
use std::io::{self, Read};

/// How much is read at a time, at least.
const READ_LEN: usize = 256 << 10;

/// A window into the input: the bytes that are read and not yet consumed.
pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// The window's place in `buffer`.
    start: usize,
    end: usize,
    /// The window's place in the input.
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R) -> Source<R> {
        Source { input, buffer: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// Offset of the window's first byte in the input.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are read and not yet consumed.
    pub(crate) fn window(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Drops the first bytes of the window, as many of `count` as it has.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Reads until the window has `length` bytes. Returns whether it has; if not, the input has ended.
    ///
    /// The buffer grows with the bytes that exist, not with a damaged length.
    pub(crate) fn fill(&mut self, length: usize) -> io::Result<bool> {
        while self.end - self.start < length {
            if self.start != 0 && self.buffer.len() - self.start < length {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.end == self.buffer.len() {
                let wanted = length.max(READ_LEN).max(self.end + 1);
                self.buffer.resize((self.end * 2).max(READ_LEN).min(wanted), 0);
            }
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.input.read(free) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count.min(free.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Moves on by at least a byte, to the next place where a chunk may begin, or to the input's end.
    pub(crate) fn skip_to_sync(&mut self) -> io::Result<()> {
        self.consume(1);
        while self.fill(HEADER_LEN)? {
            match self.window().iter().position(|&byte| byte == SYNC[0]) {
                Some(0) if self.window().starts_with(&SYNC) => return Ok(()),
                Some(0) => self.consume(1),
                Some(length) => self.consume(length),
                None => self.consume(usize::MAX),
            }
        }
        // The rest is too short for a chunk.
        self.consume(usize::MAX);
        Ok(())
    }
}
