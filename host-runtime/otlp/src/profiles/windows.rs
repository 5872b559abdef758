//! Requests of each window of a growing profile.

use super::options::ProfileOptions;
use super::requests::profiles;
use crate::spans::batch::Request;
use kperf_profile::EachWindow;
use kperf_trace::{Header, TraceReader};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, Read};

/// Reads a growing profile, and gives each window as requests of its own, with its time. Their sum is what
/// [`profiles`](super::profiles) gives for the whole trace.
pub struct WindowProfiles<R: Read> {
    windows: EachWindow<R>,
    options: ProfileOptions,
    ready: VecDeque<Request>,
}

impl<R: Read> WindowProfiles<R> {
    /// Begins.
    pub fn new(reader: TraceReader<R>, options: ProfileOptions) -> WindowProfiles<R> {
        WindowProfiles { windows: EachWindow::new(reader), options, ready: VecDeque::new() }
    }

    /// The next request; `None` at the end of the trace.
    ///
    /// # Errors
    ///
    /// Only errors of the trace's input. After an error it may be called again: nothing is lost.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Request>> {
        loop {
            if let Some(request) = self.ready.pop_front() {
                return Ok(Some(request));
            }
            let Some(window) = self.windows.next()? else { return Ok(None) };
            let ready = &mut self.ready;
            let keep = |request| {
                ready.push_back(request);
                Ok::<_, Infallible>(())
            };
            match profiles(window, &self.options, keep) {
                Ok(_) => {}
                Err(never) => match never {},
            }
        }
    }

    /// The trace's clock and host.
    pub fn header(&self) -> &Header {
        self.windows.header()
    }

    /// How many bytes of the trace were read, for progress.
    pub fn offset(&self) -> u64 {
        self.windows.offset()
    }
}
