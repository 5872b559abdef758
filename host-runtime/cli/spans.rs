//! The flags that say which calls become OpenTelemetry spans, and how.

use crate::filters::{CallArgs, CallChoice, check_names};
use crate::output::tell;
use crate::parents::ParentArgs;
use crate::traces;
use anyhow::Context;
use kperf_otlp::exporter::parse_pairs;
use kperf_otlp::{Account, ResourceOptions, Roots, SpanOptions, Spans};
use kperf_profile::Symbols;
use kperf_trace::{Item, TraceReader};
use std::io::Read;

/// Which calls become spans.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "OpenTelemetry spans")]
pub struct SpanArgs {
    /// What is one trace: each call from the host into the guest, or the whole run, with a span of its own around all.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    roots: RootsArg,
    /// At most N spans; the calls that begin first have them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_spans: Option<u64>,
    /// Make the ids from this number. Without it they come from what the trace says of itself, so that the same trace has
    /// the same ids each time.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The name of the service [default: `OTEL_SERVICE_NAME`, or the module's name]
    #[arg(long, value_name = "NAME")]
    service_name: Option<String>,
    #[command(flatten)]
    parent: ParentArgs,
}

/// What is one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum RootsArg {
    /// Each call from the host.
    #[default]
    Call,
    /// The run.
    Run,
}

impl SpanArgs {
    /// The options of the library for these calls, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` of the environment
    /// included.
    pub fn options(&self, calls: &CallArgs) -> anyhow::Result<SpanOptions> {
        let CallChoice { functions, depth, min_nanos } = calls.without_range_and_lane()?;
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let attributes =
            parse_pairs(&attributes).context("failed to read OTEL_RESOURCE_ATTRIBUTES of the environment")?;
        let service_name = self.service_name.clone().or_else(|| variable("OTEL_SERVICE_NAME"));
        Ok(SpanOptions {
            roots: match self.roots {
                RootsArg::Call => Roots::PerCall,
                RootsArg::Run => Roots::PerRun,
            },
            seed: self.seed,
            parent: self.parent.context()?,
            min_nanos,
            max_depth: depth,
            max_spans: self.max_spans,
            keep: (!functions.is_empty())
                .then(|| -> kperf_otlp::Keep { Box::new(move |name| functions.matches(name)) }),
            resource: ResourceOptions { service_name, attributes },
            ..SpanOptions::default()
        })
    }

    /// Fails for a pattern that means none of a trace's functions, as far as these are told before its first events.
    pub fn check_early<R: Read>(&self, calls: &CallArgs, mut reader: TraceReader<R>) -> anyhow::Result<()> {
        let mut symbols = Symbols::default();
        while let Some(Item::Symbols(bytes)) = reader.next()? {
            symbols.add_bytes(bytes);
        }
        let functions = calls.without_range_and_lane()?.functions;
        check_names(&functions, symbols.iter().map(|symbol| symbol.display_name()))
    }

    /// Tells what is to be told when all spans were made: warnings about the trace, calls left out because the caller's
    /// span isn't sampled. A pattern that matches nothing is an error.
    pub fn check<R: Read>(&self, calls: &CallArgs, spans: &mut Spans<R>) -> anyhow::Result<Account> {
        let account = spans.account();
        tell_warnings(&account);
        let names = spans.symbols().iter().map(|symbol| symbol.display_name());
        check_names(&calls.without_range_and_lane()?.functions, names)?;
        Ok(account)
    }
}

/// Tells on stderr what is doubtful in spans that were made.
pub fn tell_warnings(account: &Account) {
    traces::tell_warnings(&account.health);
    let unsampled = account.elided.unsampled.calls;
    if unsampled > 0 {
        tell(format_args!(
            "warning: {unsampled} calls have no spans, since the span that called them isn't sampled; \
             --traceparent names another"
        ));
    }
}

/// What was left out, in words; empty if nothing was.
pub fn left_out(account: &Account) -> String {
    let reasons = account.elided.reasons();
    let told: Vec<String> = reasons
        .iter()
        .filter(|(_, left)| left.calls > 0)
        .map(|(reason, left)| format!("{} {reason}", left.calls))
        .collect();
    if told.is_empty() { String::new() } else { format!(", left out {}", told.join(", ")) }
}
