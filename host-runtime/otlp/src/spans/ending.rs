//! The status and event of a span whose call didn't end by a leave.

use crate::attribute::{int, string};
use crate::proto::common::v1::KeyValue;
use crate::proto::trace::v1::span::Event;
use crate::proto::trace::v1::status::StatusCode;
use crate::proto::trace::v1::{Span, Status};
use kperf_profile::frames::Ending;
use kperf_trace::Reason;

/// How the program ended, as far as it is known when a span is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome<'a> {
    /// The trace's outcome: `exit 3`, `trap: ...`, `failed: ...`, `interrupted by SIGINT`.
    pub(crate) text: &'a str,
}

impl Outcome<'_> {
    fn exit_code(&self) -> Option<i32> {
        self.text.strip_prefix("exit ")?.parse().ok()
    }

    /// Type and message of the exception that ended a call; `None` if no exception did.
    fn exception(&self, reason: Reason) -> Option<(&'static str, &str)> {
        let detail = |prefix: &str, default: &'static str| -> &str {
            self.text.strip_prefix(prefix).unwrap_or(default)
        };
        Some(match reason {
            Reason::Caught => ("exception", "unwound by an exception that was caught further out"),
            Reason::Trap => ("trap", detail("trap: ", "the guest trapped")),
            Reason::Host => ("host_error", detail("failed: ", "the host ended the call")),
            Reason::Interrupted if self.text.starts_with("interrupted") => ("interrupted", self.text),
            Reason::Interrupted => ("interrupted", "a signal ended the program"),
            Reason::Exit | Reason::Unfinished => return None,
        })
    }
}

/// Adds to a span how it ended: `kperf.ending`, an event, a status.
///
/// A trap, a host's error, a signal and an exception that an outer frame caught make an event `exception` and the status
/// ERROR; `proc_exit` makes an event of its own, and the status ERROR if its code isn't 0. A call that was open when the
/// recording ended, or at a gap, has neither.
pub(crate) fn describe(span: &mut Span, ending: Ending, outcome: &Outcome<'_>, unix_nanos: u64) {
    let Some(word) = ending.as_str() else { return };
    span.attributes.push(string("kperf.ending", word));
    let Ending::Unwound(reason) = ending else { return };
    let event = |name: &str, attributes: Vec<KeyValue>| Event {
        time_unix_nano: unix_nanos,
        name: name.into(),
        attributes,
        dropped_attributes_count: 0,
    };
    if reason == Reason::Exit {
        let code = outcome.exit_code();
        let attributes = code.map(|code| int("process.exit.code", code as u32 as u64)).into_iter().collect();
        span.events.push(event("proc_exit", attributes));
        if let Some(code) = code.filter(|&code| code != 0) {
            span.attributes.push(string("error.type", "exit"));
            span.status = error(format!("exit code {code}"));
        }
    } else if let Some((kind, message)) = outcome.exception(reason) {
        let attributes = vec![string("exception.type", kind), string("exception.message", message)];
        span.events.push(event("exception", attributes));
        span.attributes.push(string("error.type", kind));
        span.status = error(message.to_owned());
    }
}

fn error(message: String) -> Option<Status> {
    Some(Status { message, code: StatusCode::Error.into() })
}
