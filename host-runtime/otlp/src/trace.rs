//! OpenTelemetry's trace of a call.

use crate::sampler::Sampler;
use crate::wire;
use kperf_trace::TraceContext;

/// A trace, as a span's fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) id: [u8; 16],
    /// Field 3 of a span, empty without a tracestate.
    pub(crate) state: Vec<u8>,
    /// The flags that W3C Trace Context knows.
    flags: u8,
    /// The parent of its outermost spans; 0 if they have none.
    pub(crate) parent: u64,
    /// Whether the parent is a span of another program.
    remote: bool,
    pub(crate) sampled: bool,
}

/// The flags of a parent that are handed on, since their meaning is known: sampled, and that the trace id is random.
const KNOWN_FLAGS: u8 = 3;
/// `SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK`: the next bit is known.
const HAS_IS_REMOTE: u32 = 0x100;
/// `SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK`: the parent is another program's.
const IS_REMOTE: u32 = 0x200;

impl Trace {
    /// A trace of our own.
    pub(crate) fn new(id: [u8; 16], sampler: Sampler) -> Trace {
        Trace { id, flags: TraceContext::SAMPLED, sampled: sampler.samples(&id, None), ..Trace::default() }
    }

    /// The trace of another program's span.
    pub(crate) fn of(context: &TraceContext, sampler: Sampler) -> Trace {
        let sampled = sampler.samples(&context.trace_id, Some(context));
        // A span that is made is sampled, whatever its parent is.
        let flags = if sampled { context.flags | TraceContext::SAMPLED } else { context.flags };
        let mut state = Vec::new();
        if !context.state.is_empty() {
            wire::field(&mut state, 3, context.state.as_bytes());
        }
        Trace {
            id: context.trace_id,
            state,
            flags: flags & KNOWN_FLAGS,
            parent: u64::from_be_bytes(context.span_id),
            remote: true,
            sampled,
        }
    }

    /// This trace, with a span of ours as the parent.
    pub(crate) fn inside(&self, span: u64) -> Trace {
        Trace { parent: span, remote: false, ..self.clone() }
    }

    /// Field 16 of a span with this parent.
    #[inline]
    pub(crate) fn flags(&self, parent: u64) -> [u8; 6] {
        let remote = if self.remote && parent == self.parent { IS_REMOTE } else { 0 };
        let [a, b, c, d] = (u32::from(self.flags) | HAS_IS_REMOTE | remote).to_le_bytes();
        [0x85, 0x01, a, b, c, d]
    }
}
