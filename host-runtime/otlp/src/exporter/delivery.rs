//! The counts of sent spans.

use kperf_profile::{grouped, printable};
use std::fmt;
use std::time::Duration;

/// The counts of a trace's spans. `attempted` is the sum of `acknowledged`, `rejected` and `failed`, and `expected` the sum of
/// `elided`, `attempted` and `dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// All spans: one for each call of the trace, as far as it was read.
    pub expected: u64,
    /// Spans that filters left out.
    pub elided: u64,
    /// Spans that were sent at least once.
    pub attempted: u64,
    /// Spans that the Collector has acknowledged.
    pub acknowledged: u64,
    /// Spans that the Collector rejected, though it took their request, or that are each larger than the requests it takes.
    pub rejected: u64,
    /// Spans whose request was refused, or retried until the time was over. (A Collector may have some of these, if only its
    /// answer was lost.)
    pub failed: u64,
    /// Spans that were never sent: sending had ended before.
    pub dropped: u64,
    /// Whether the trace was read to its end. If not, `expected` counts only the calls before.
    pub whole: bool,
    /// Requests that were acknowledged.
    pub requests: u64,
    /// Tries after each request's first.
    pub retries: u64,
    /// Bytes of the requests that were acknowledged, before compression.
    pub bytes: u64,
    /// Messages of the Collector and of errors, in the order of their first occurrence. At most
    /// [`Delivery::MAX_MESSAGES`] different ones.
    pub messages: Vec<Message>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A message of the Collector or of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The subject of the message.
    pub about: About,
    /// The text of the Collector or of an error, unchanged.
    pub text: String,
    /// How many requests it concerns.
    pub requests: u64,
    /// How many spans it concerns.
    pub spans: u64,
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Spans that the Collector rejected.
    Rejected,
    /// Requests that failed for good.
    Failed,
    /// Tries after which a request was tried again.
    Retried,
    /// A warning of a Collector that took everything.
    Warning,
    /// The trace, which could not be read to its end.
    Trace,
}

impl Delivery {
    /// How many different messages are kept.
    pub const MAX_MESSAGES: usize = 16;

    /// Whether every span was acknowledged, except those that filters left out.
    pub fn is_complete(&self) -> bool {
        self.whole && self.acknowledged + self.elided == self.expected
    }

    /// Whether sending the trace again may help: some spans failed or were not sent. A rejected span would be rejected again.
    pub fn can_be_sent_again(&self) -> bool {
        !self.whole || self.failed > 0 || self.dropped > 0
    }

    pub(super) fn say(&mut self, about: About, text: &str, spans: u64) {
        let known = self.messages.iter_mut().find(|message| message.about == about && message.text == text);
        if let Some(message) = known {
            message.requests += 1;
            message.spans += spans;
        } else if self.messages.len() < Delivery::MAX_MESSAGES {
            self.messages.push(Message { about, text: text.to_owned(), requests: 1, spans });
        }
    }
}

impl fmt::Display for Delivery {
    /// A table for people, a line each, without a line break at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            (
                "expected",
                self.expected,
                if self.whole { "" } else { "or more: the trace was not read to its end" },
            ),
            ("elided", self.elided, "left out by filters"),
            ("dropped", self.dropped, "never sent"),
            ("attempted", self.attempted, ""),
            ("acknowledged", self.acknowledged, ""),
            ("rejected", self.rejected, ""),
            ("failed", self.failed, ""),
        ];
        let width = rows.iter().map(|(_, count, _)| grouped(*count).len()).max().unwrap_or(0);
        for (n, (name, count, note)) in rows.into_iter().enumerate() {
            let (line, count_text) = (if n == 0 { "" } else { "\n" }, grouped(count));
            write!(f, "{line}{name:<12}  {count_text:>width$}")?;
            match name {
                "expected" if !note.is_empty() => write!(f, "  {note}")?,
                _ if !note.is_empty() && count > 0 => write!(f, "  {note}")?,
                _ => {}
            }
        }
        for message in &self.messages {
            let (requests, spans) = (grouped(message.requests), grouped(message.spans));
            // A server's text may contain control characters.
            let text = printable(&message.text);
            match message.about {
                About::Rejected => write!(f, "\n  rejected, {spans}: {text}"),
                About::Failed => write!(f, "\n  failed, {spans}: {text}"),
                About::Retried => write!(f, "\n  tried again, {requests} times: {text}"),
                About::Warning => write!(f, "\n  the Collector warns: {text}"),
                About::Trace => write!(f, "\n  the trace: {text}"),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_all_of_it() {
        let mut delivery = Delivery {
            expected: 2_000_558,
            elided: 500,
            attempted: 2_000_000,
            acknowledged: 1_990_000,
            rejected: 7,
            failed: 9_993,
            dropped: 58,
            whole: true,
            ..Delivery::default()
        };
        delivery.say(About::Rejected, "too old", 3);
        delivery.say(About::Rejected, "too old", 4);
        delivery.say(About::Failed, "HTTP 400: no", 9_993);
        assert_eq!(
            delivery.to_string(),
            "\
expected      2,000,558
elided              500  left out by filters
dropped              58  never sent
attempted     2,000,000
acknowledged  1,990,000
rejected              7
failed            9,993
  rejected, 7: too old
  failed, 9,993: HTTP 400: no"
        );
        assert!(!delivery.is_complete());
    }

    #[test]
    fn what_was_rejected_is_not_offered_again() {
        let rejected = Delivery {
            expected: 9,
            attempted: 9,
            acknowledged: 2,
            rejected: 7,
            whole: true,
            ..Delivery::default()
        };
        assert!(!rejected.is_complete() && !rejected.can_be_sent_again());
        assert!(Delivery { failed: 1, ..rejected.clone() }.can_be_sent_again());
        assert!(Delivery { dropped: 1, ..rejected.clone() }.can_be_sent_again());
        assert!(Delivery { whole: false, ..rejected }.can_be_sent_again());
    }

    #[test]
    fn the_text_of_a_server_does_nothing_to_a_terminal() {
        let mut delivery = Delivery::default();
        for about in [About::Rejected, About::Failed, About::Retried, About::Warning, About::Trace] {
            delivery.say(about, "no\x1b[2J\r\x07\nacknowledged 9\u{202e}", 1);
        }
        let text = delivery.to_string();
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
        assert_eq!(text.lines().count(), 7 + 5, "{text}");
    }

    #[test]
    fn messages_are_few() {
        let mut delivery = Delivery::default();
        for n in 0..100 {
            delivery.say(About::Failed, &n.to_string(), 1);
        }
        assert_eq!(delivery.messages.len(), Delivery::MAX_MESSAGES);
    }
}
