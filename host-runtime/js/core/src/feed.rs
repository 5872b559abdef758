//! Reads a trace that comes in pieces.

use kperf_trace::{Error, ErrorKind, TraceReader};
use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// The bytes that came and were not read yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed(Rc<RefCell<Pieces>>);

#[derive(Debug, Default)]
struct Pieces {
    bytes: Vec<u8>,
    /// The number of bytes that were read.
    at: usize,
    /// Keeps bytes that were read, because they may be read again.
    keeps: bool,
    ended: bool,
}

impl Feed {
    /// Adds bytes.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut pieces = self.0.borrow_mut();
        if !pieces.keeps {
            let at = std::mem::take(&mut pieces.at);
            pieces.bytes.drain(..at);
        }
        pieces.bytes.extend_from_slice(bytes);
    }

    /// Marks the trace as complete.
    pub(crate) fn end(&self) {
        self.0.borrow_mut().ended = true;
    }

    /// A reader, once the header has come.
    pub(crate) fn reader(&self) -> Result<Option<TraceReader<Feed>>, Error> {
        self.0.borrow_mut().keeps = true;
        let reader = TraceReader::new(self.clone());
        let mut pieces = self.0.borrow_mut();
        match reader {
            Err(error) if matches!(error.kind(), ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::WouldBlock) =>
            {
                pieces.at = 0;
                Ok(None)
            }
            reader => {
                pieces.keeps = false;
                reader.map(Some)
            }
        }
    }
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pieces = self.0.borrow_mut();
        let mut rest = pieces.bytes.get(pieces.at..).unwrap_or_default();
        if rest.is_empty() && !pieces.ended && !buffer.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = rest.read(buffer)?;
        pieces.at += count;
        Ok(count)
    }
}
