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
/// The sink is a file without a name, which grows with the trace (0.03 to 1.5 bytes a call) and is deleted at the end. So a
/// slow or absent Collector costs disk space, but no time of the program and no spans: requests are retried while the
/// recording goes on. [`Config::give_up_after`] counts from the recording's end, when the sink is dropped.
///
/// # Errors
///
/// If the file or a thread can't be created, or the configuration is invalid.
pub fn sink(config: Config, options: SpanOptions) -> Result<(Spool, Sending)> {
    let (spool, tail) = Spool::temporary()?;
    Ok((spool, Sending::live(config, options, tail)?))
}

/// The same for a profile: each window is sent when it has ended.
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
    /// If the configuration is invalid (certificates, headers), or a file or a thread can't be created.
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
