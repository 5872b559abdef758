//! The parent of the guest's calls: a span of the host or of another process, in the form of
//! [W3C Trace Context](https://www.w3.org/TR/trace-context/).

use crate::event::LaneId;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// A span's ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanLink {
    /// Its trace.
    pub trace_id: [u8; 16],
    /// Itself.
    pub span_id: [u8; 8],
}

impl From<&TraceContext> for SpanLink {
    fn from(context: &TraceContext) -> SpanLink {
        SpanLink { trace_id: context.trace_id, span_id: context.span_id }
    }
}

/// A span of another program, with its tracestate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct TraceContext {
    /// The trace; not all zeros in a context that was parsed.
    pub trace_id: [u8; 16],
    /// The span; not all zeros in a context that was parsed.
    pub span_id: [u8; 8],
    /// The flags: bit 0 says that the trace is sampled.
    pub flags: u8,
    /// The value of `tracestate`, unchanged; empty if there is none.
    pub state: String,
}

/// The parent of the calls that the host makes into a lane, from the recorder's next block on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallParent {
    /// The recorder.
    pub recorder: u32,
    /// Which of its stacks; `None` for all of them.
    pub stack: Option<u32>,
    /// The parent; `None` to go back to the parent of the whole run ([`Header::parent`](crate::Header::parent)).
    pub context: Option<TraceContext>,
}

impl CallParent {
    /// Whether this parent is for calls on this lane.
    pub fn concerns(&self, lane: LaneId) -> bool {
        self.recorder == lane.recorder && self.stack.is_none_or(|stack| stack == lane.stack)
    }
}

/// Why text is not a trace context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextError {
    /// `traceparent` or `tracestate`.
    pub field: &'static str,
    /// Offset into the text, in bytes.
    pub offset: usize,
    /// The fault there.
    pub message: &'static str,
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad {}: {} (at offset {})", self.field, self.message, self.offset)
    }
}

impl std::error::Error for ContextError {}

/// The longest `tracestate` that is accepted: the specification requires this much to be propagated.
const MAX_STATE: usize = 512;
/// The maximal number of members of a `tracestate`, from the specification.
const MAX_MEMBERS: usize = 32;

impl TraceContext {
    /// Bit 0 of the flags.
    pub const SAMPLED: u8 = 1;

    /// Reads the values of the two headers. `tracestate` may be empty.
    ///
    /// # Errors
    ///
    /// If `traceparent` is not four hexadecimal numbers with dashes between them
    /// (`00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`), if its version is ff or an id is zero, if `tracestate`
    /// is not a list of at most 32 `key=value`, or longer than 512 bytes.
    pub fn parse(traceparent: &str, tracestate: &str) -> Result<TraceContext, ContextError> {
        let error = |offset, message| ContextError { field: "traceparent", offset, message };
        let bytes = traceparent.trim().as_bytes();
        for (offset, what) in [(2, "the version"), (35, "the trace id"), (52, "the span id")] {
            if bytes.get(offset) != Some(&b'-') {
                let message = match what {
                    "the version" => "the version is not two digits and a dash",
                    "the trace id" => "the trace id is not 32 digits and a dash",
                    _ => "the span id is not 16 digits and a dash",
                };
                return Err(error(offset.min(bytes.len()), message));
            }
        }
        let number = |offset: usize, out: &mut [u8]| {
            for (n, byte) in out.iter_mut().enumerate() {
                let at = offset + 2 * n;
                match bytes.get(at..at + 2) {
                    Some(&[high, low]) => *byte = digit(high).zip(digit(low)).map(|(h, l)| h << 4 | l)?,
                    _ => return None,
                }
            }
            Some(())
        };
        let digits = "it has something else than lower-case hexadecimal digits";
        let (mut version, mut flags) = ([0], [0]);
        let mut context = TraceContext::default();
        number(0, &mut version).ok_or_else(|| error(0, digits))?;
        number(3, &mut context.trace_id).ok_or_else(|| error(3, digits))?;
        number(36, &mut context.span_id).ok_or_else(|| error(36, digits))?;
        number(53, &mut flags).ok_or_else(|| error(53, "the flags are not two hexadecimal digits"))?;
        match (version, bytes.get(55)) {
            ([0xff], _) => return Err(error(0, "there is no version ff")),
            // Later versions may have more after another dash.
            ([0], Some(_)) => return Err(error(55, "something follows the flags")),
            (_, Some(byte)) if *byte != b'-' => return Err(error(55, "no dash follows the flags")),
            _ => {}
        }
        if context.trace_id == [0; 16] {
            return Err(error(3, "the trace id is zero"));
        }
        if context.span_id == [0; 8] {
            return Err(error(36, "the span id is zero"));
        }
        context.flags = flags[0];
        context.state = check_state(tracestate.trim())?.to_owned();
        Ok(context)
    }

    /// Whether the caller records its trace. If not, spans of its calls are not wanted.
    pub fn is_sampled(&self) -> bool {
        self.flags & TraceContext::SAMPLED != 0
    }

    /// The value of the header `traceparent`.
    pub fn traceparent(&self) -> String {
        let mut text = String::from("00-");
        for byte in self.trace_id {
            // Writing to a String doesn't fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push('-');
        for byte in self.span_id {
            let _ = write!(text, "{byte:02x}");
        }
        let _ = write!(text, "-{:02x}", self.flags);
        text
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Whether this is a valid `tracestate`.
pub(crate) fn check_state(state: &str) -> Result<&str, ContextError> {
    let error = |offset, message| ContextError { field: "tracestate", offset, message };
    if let Some(offset) = state.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
        return Err(error(offset, "it has something else than printable ASCII"));
    }
    if state.len() > MAX_STATE {
        return Err(error(MAX_STATE, "it is longer than 512 bytes"));
    }
    let (mut offset, mut members) = (0, 0);
    for member in state.split(',') {
        if !member.trim().is_empty() {
            members += 1;
            if members > MAX_MEMBERS {
                return Err(error(offset, "it has more than 32 members"));
            }
            if member.trim().find('=').is_none_or(|at| at == 0) {
                return Err(error(offset, "a member is not key=value"));
            }
        }
        offset += member.len() + 1;
    }
    Ok(state)
}

/// A context in JSON: the two headers.
#[derive(Serialize, Deserialize)]
struct Fields {
    traceparent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl TryFrom<Fields> for TraceContext {
    type Error = ContextError;

    fn try_from(fields: Fields) -> Result<TraceContext, ContextError> {
        TraceContext::parse(&fields.traceparent, &fields.tracestate)
    }
}

impl From<TraceContext> for Fields {
    fn from(context: TraceContext) -> Fields {
        Fields { traceparent: context.traceparent(), tracestate: context.state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_survives_text_and_json() {
        let context = TraceContext::parse(PARENT, " a=1,b@c=2 ").expect("a context");
        assert_eq!((context.trace_id[0], context.span_id[7], context.is_sampled()), (0x0a, 0x31, true));
        assert_eq!((context.traceparent().as_str(), context.state.as_str()), (PARENT, "a=1,b@c=2"));
        let json = serde_json::to_string(&context).expect("JSON");
        assert_eq!(json, format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1,b@c=2"}}"#));
        assert_eq!(serde_json::from_str::<TraceContext>(&json).expect("a context"), context);
        let later = format!("cc{}-what will be", &PARENT[2..]);
        assert_eq!(TraceContext::parse(&later, "").expect("a later version").trace_id, context.trace_id);
    }

    #[test]
    fn errors_say_what_and_where() {
        let error =
            |parent: &str, state: &str| TraceContext::parse(parent, state).expect_err("bad").to_string();
        let with = |at: usize, text: &str| {
            let mut parent = PARENT.to_owned();
            parent.replace_range(at..at + text.len(), text);
            parent
        };
        for (parent, expected) in [
            (String::new(), "bad traceparent: the version is not two digits and a dash (at offset 0)"),
            (PARENT[..40].into(), "bad traceparent: the span id is not 16 digits and a dash (at offset 40)"),
            (PARENT[..54].into(), "bad traceparent: the flags are not two hexadecimal digits (at offset 53)"),
            (
                PARENT.replace("af", "AF"),
                "bad traceparent: it has something else than lower-case hexadecimal digits (at offset 3)",
            ),
            (with(0, "ff"), "bad traceparent: there is no version ff (at offset 0)"),
            (format!("{PARENT}-"), "bad traceparent: something follows the flags (at offset 55)"),
            (format!("01{}x", &PARENT[2..]), "bad traceparent: no dash follows the flags (at offset 55)"),
            (with(3, &"0".repeat(32)), "bad traceparent: the trace id is zero (at offset 3)"),
            (with(36, &"0".repeat(16)), "bad traceparent: the span id is zero (at offset 36)"),
        ] {
            assert_eq!(error(&parent, ""), expected);
        }
        assert_eq!(error(PARENT, "a=1,b"), "bad tracestate: a member is not key=value (at offset 4)");
        assert_eq!(
            error(PARENT, "a=\n1"),
            "bad tracestate: it has something else than printable ASCII (at offset 2)"
        );
        assert_eq!(
            error(PARENT, &format!("a={}", "x".repeat(511))),
            "bad tracestate: it is longer than 512 bytes (at offset 512)"
        );
        let members = (0..33).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert!(
            error(PARENT, &members).starts_with("bad tracestate: it has more than 32 members (at offset ")
        );
    }

    #[test]
    fn no_text_panics() {
        for end in 0..PARENT.len() {
            assert!(TraceContext::parse(&PARENT[..end], "").is_err());
        }
        for text in ["é".repeat(40), "-".repeat(55), "00-é".to_owned()] {
            assert!(TraceContext::parse(&text, &text).is_err());
        }
    }
}
