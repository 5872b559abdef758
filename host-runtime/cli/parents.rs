//! `--traceparent` and `--tracestate`: whose child something is.

use anyhow::Context;
use kperf_trace::TraceContext;

/// The caller's span.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ParentArgs {
    /// The span that it all is a child of, as W3C Trace Context writes it:
    /// `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
    #[arg(long, value_name = "TRACEPARENT")]
    traceparent: Option<String>,
    /// What that span's `tracestate` says, to be handed on.
    #[arg(long, value_name = "TRACESTATE", requires = "traceparent")]
    tracestate: Option<String>,
}

impl ParentArgs {
    /// The span, if one was named.
    pub fn context(&self) -> anyhow::Result<Option<TraceContext>> {
        let Some(traceparent) = &self.traceparent else { return Ok(None) };
        let tracestate = self.tracestate.as_deref().unwrap_or_default();
        let context = TraceContext::parse(traceparent, tracestate);
        Ok(Some(context.with_context(|| format!("failed to read the caller's span `{traceparent}`"))?))
    }

    /// The span, if one was named or `TRACEPARENT` and `TRACESTATE` of the environment name one. What can't be read there
    /// is told by `tell` and ignored, as the specification wants it.
    pub fn context_or_environment(&self, tell: impl FnOnce(String)) -> anyhow::Result<Option<TraceContext>> {
        if self.traceparent.is_some() {
            return self.context();
        }
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(traceparent) = variable("TRACEPARENT") else { return Ok(None) };
        let tracestate = variable("TRACESTATE").unwrap_or_default();
        match TraceContext::parse(&traceparent, &tracestate) {
            Ok(context) => Ok(Some(context)),
            // Without what it wants to be handed on it is still the parent.
            Err(error) if error.field == "tracestate" => {
                tell(format!("TRACESTATE of the environment is ignored: {error}"));
                Ok(TraceContext::parse(&traceparent, "").ok())
            }
            Err(error) => {
                tell(format!("TRACEPARENT of the environment is ignored: {error}"));
                Ok(None)
            }
        }
    }
}
