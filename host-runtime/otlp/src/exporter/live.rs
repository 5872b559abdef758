//! Sends the spans of a trace while it is still being written.

use super::config::Config;
use super::error::Result;
use super::sending::Sending;
use super::spool::{Spool, Tail};
use super::status::SendingStatus;
use crate::options::SpanOptions;
use crate::profiles::{ProfileOptions, WindowProfiles};
use crate::spans::reading::Spans;
use kperf_trace::TraceReader;

/// A sink for a recorder, whose spans are sent while the program runs.
///
/// The sink is a file without a name, which grows with the trace (0.03 to 1.5 bytes a call) and is gone in the end. So a
/// Collector that is slow or away for a while costs disk, not time of the program, nor spans: requests are tried for as
/// long as the recording goes on, and [`Config::give_up_after`] counts from its end, which is when the sink is dropped.
///
/// # Errors
///
/// When the file, a thread or what the configuration names can't be had.
pub fn sink(config: Config, options: SpanOptions) -> Result<(Spool, Sending)> {
    let (spool, tail) = Spool::temporary()?;
    Ok((spool, Sending::live(config, options, tail)?))
}

/// The same for a recorder that makes a profile: its windows are sent, each when it has ended.
///
/// # Errors
///
/// As [`sink`].
pub fn profile_sink(config: Config, options: ProfileOptions) -> Result<(Spool, Sending)> {
    let (spool, tail) = Spool::temporary()?;
    Ok((spool, Sending::live_profiles(config, options, tail)?))
}

impl Sending {
    /// Begins to send the spans of a trace that is still being written.
    ///
    /// # Errors
    ///
    /// If the configuration can't work (certificates, headers), or a file or a thread can't be had.
    pub fn live(config: Config, options: SpanOptions, tail: Tail) -> Result<Sending> {
        let status = SendingStatus::new(Some(tail.ended()));
        Sending::start_with(config, status, move || Ok(Spans::new(TraceReader::new(tail)?, options)))
    }

    /// Begins to send the windows of a profile that is still being written, each when it has ended.
    ///
    /// # Errors
    ///
    /// As [`live`](Sending::live).
    pub fn live_profiles(config: Config, options: ProfileOptions, tail: Tail) -> Result<Sending> {
        let status = SendingStatus::new(Some(tail.ended()));
        let open = move || Ok(WindowProfiles::new(TraceReader::new(tail)?, options));
        Sending::start_with(config, status, open)
    }
}
