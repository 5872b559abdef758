//! Sources of requests.

use crate::profiles::WindowProfiles;
use crate::spans::batch::Request;
use crate::spans::reading::Spans;
use std::io::Read;
use std::sync::mpsc::Receiver;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Gives encoded requests, one by one. A thread of its own calls it, only when there is room for the request.
pub trait Source {
    /// The next request; `None` at the trace's end.
    ///
    /// # Errors
    ///
    /// If the trace can't be read any further. Earlier requests are still sent.
    fn next_request(&mut self) -> Result<Option<Request>, BoxError>;

    /// The progress so far.
    fn progress(&mut self) -> SourceProgress;
}

/// The progress of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceProgress {
    /// How many spans were left out so far.
    pub elided: u64,
    /// How many bytes of the trace were read.
    pub trace_bytes: u64,
}

impl<R: Read> Source for Spans<R> {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        Ok(self.next()?)
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress { elided: self.elided().calls(), trace_bytes: self.offset() }
    }
}

impl<R: Read> Source for WindowProfiles<R> {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        Ok(self.next()?)
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress { elided: 0, trace_bytes: self.offset() }
    }
}

/// Requests from a channel, until all senders are dropped.
impl Source for Receiver<Request> {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        Ok(self.recv().ok())
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress::default()
    }
}
