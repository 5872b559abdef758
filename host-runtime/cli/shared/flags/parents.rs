//! `--traceparent` and `--tracestate`: the parent span.

use anyhow::Context;
use kperf_trace::TraceContext;

/// The caller's span.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentArgs {
    /// The parent of all spans, in the format of W3C Trace Context:
    /// `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
    #[arg(long, value_name = "TRACEPARENT")]
    traceparent: Option<String>,
    /// The parent's `tracestate`, which all spans get too.
    #[arg(long, value_name = "TRACESTATE", requires = "traceparent")]
    tracestate: Option<String>,
}

impl ParentArgs {
    /// The parent span, if the flags name one.
    pub fn context(&self) -> anyhow::Result<Option<TraceContext>> {
        let Some(traceparent) = &self.traceparent else { return Ok(None) };
        let tracestate = self.tracestate.as_deref().unwrap_or_default();
        let context = TraceContext::parse(traceparent, tracestate);
        Ok(Some(context.with_context(|| format!("failed to read the caller's span `{traceparent}`"))?))
    }

    /// The parent span that the flags name, or else `TRACEPARENT` and `TRACESTATE` of the environment. If these can't be read,
    /// `warn` gets a message and they are ignored, as the specification says.
    pub fn context_or_environment(&self, warn: impl FnOnce(String)) -> anyhow::Result<Option<TraceContext>> {
        if self.traceparent.is_some() {
            return self.context();
        }
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(traceparent) = variable("TRACEPARENT") else { return Ok(None) };
        let tracestate = variable("TRACESTATE").unwrap_or_default();
        match TraceContext::parse(&traceparent, &tracestate) {
            Ok(context) => Ok(Some(context)),
            // A span with a bad `tracestate` is still the parent.
            Err(error) if error.field == "tracestate" => {
                warn(format!("TRACESTATE of the environment is ignored: {error}"));
                Ok(TraceContext::parse(&traceparent, "").ok())
            }
            Err(error) => {
                warn(format!("TRACEPARENT of the environment is ignored: {error}"));
                Ok(None)
            }
        }
    }
}
