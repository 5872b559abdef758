//! Metrics of a trace that was read to its end.

mod functions;
mod memory;
mod profile;

use crate::spans::batch::Request;
use crate::spans::reading::Spans;
use std::io::Read;

impl<R: Read> Spans<R> {
    /// The metrics of a trace that was read to its end, with [`SpanOptions::metrics`]; else none. For each function
    /// `kperf.function.calls`, a sum, and `kperf.function.duration`, an exponential histogram in seconds, both cumulative
    /// since the trace began. If allocations are recorded, `kperf.memory.allocated`, `freed` and `live` in bytes and
    /// `kperf.memory.allocations`, by the function that allocated. A profile has `kperf.function.self_time`, a sum in seconds from samples, instead of durations.
    pub fn metrics(&mut self) -> Vec<Request> {
        let Some((encoder, (start_ticks, end_ticks))) = self.finished() else { return Vec::new() };
        let mut requests = encoder.metrics(start_ticks, end_ticks);
        requests.extend(encoder.memory_metrics(start_ticks, end_ticks));
        requests
    }
}
