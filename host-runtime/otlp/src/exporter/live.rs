//! Sends the spans of a trace while it is still being written.

use super::config::Config;
use super::error::Result;
use super::sending::Sending;
use super::source::{BoxError, Source, SourceProgress};
use super::spool::{Spool, Tail};
use super::status::SendingStatus;
use crate::options::SpanOptions;
use crate::profiles::{ProfileOptions, WindowProfiles};
use crate::spans::batch::Request;
use crate::spans::reading::Spans;
use kperf_trace::TraceReader;
use std::io::ErrorKind;
use std::time::Duration;

/// A sink for a recorder, whose spans are sent while the program runs.
///
/// The sink is a sequence of files without a name, of 8 MiB each, which are deleted when they are sent. So a
/// slow or absent Collector costs disk space (0.03 to 1.5 bytes a call), but no time of the program and no spans: requests are
/// retried while the recording goes on. A gigabyte may wait ([`Spool::ROOM`]); the recorder counts what comes then as lost, and says so
/// (its `on_notice`). [`Config::give_up_after`] counts from the recording's end, when the sink is dropped.
/// A span is sent a second after it was written, or before if there are many.
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

/// How long a span waits for others to fill its request.
const SENT_AFTER: Duration = Duration::from_secs(1);

/// A sink for a recorder, and its spans for an exporter of your own. They may be read as slowly as the exporter takes them: what is
/// written and not read is in files, as with [`sink`].
///
/// # Errors
///
/// If the file can't be created.
pub fn live_spans(options: SpanOptions) -> Result<(Spool, LiveSpans)> {
    let (spool, tail) = Spool::temporary()?;
    Ok((spool, LiveSpans { unread: Some((tail, options)), spans: None }))
}

/// The spans of a trace that grows. A request isn't awaited until it is full: it has the spans of a second.
pub struct LiveSpans {
    /// Until the trace's beginning is read.
    unread: Option<(Tail, SpanOptions)>,
    spans: Option<Spans<Tail>>,
}

impl LiveSpans {
    /// The next spans; `None` at the trace's end. Waits for them.
    ///
    /// # Errors
    ///
    /// If the trace can't be read any further.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Request>, BoxError> {
        if let Some((tail, options)) = self.unread.take() {
            let rests = tail.rests();
            self.spans = Some(Spans::new(TraceReader::new(tail)?, options));
            rests.begin(SENT_AFTER);
        }
        let Some(spans) = &mut self.spans else { return Ok(None) };
        loop {
            match spans.next() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Some(request) = spans.partial() {
                        return Ok(Some(request));
                    }
                }
                next => return Ok(next?),
            }
        }
    }
}

impl Source for LiveSpans {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        self.next()
    }

    fn progress(&mut self) -> SourceProgress {
        self.spans.as_mut().map(Source::progress).unwrap_or_default()
    }
}

impl Sending {
    /// Begins to send the spans of a trace that is still being written.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid (certificates, headers), or a file or a thread can't be created.
    pub fn live(config: Config, options: SpanOptions, tail: Tail) -> Result<Sending> {
        let status = SendingStatus::new(Some(tail.ended()));
        let open = move || Ok(LiveSpans { unread: Some((tail, options)), spans: None });
        Sending::start_with(config, status, open)
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
