//! Flags for OpenTelemetry spans: which calls, and how.

use crate::shared::flags::filters::{CallArgs, CallChoice, check_names};
use crate::shared::flags::parents::ParentArgs;
use crate::shared::output;
use crate::shared::traces;
use anyhow::bail;
use kperf_otlp::{Account, ProfileOptions, ResourceOptions, Roots, SpanOptions, Spans};
use kperf_profile::{Symbols, Unit};
use kperf_trace::{Header, Item, TraceReader};
use std::io::Read;

/// Which calls become spans.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "OpenTelemetry spans")]
pub struct SpanArgs {
    /// What becomes one trace: each call from the host into the guest, or the whole run, with one span around all calls.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    roots: RootsArg,
    /// Make at most N spans, of the calls that begin first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_spans: Option<u64>,
    /// Make the ids from this number. Without it they are made from the trace's header, so the same trace always gets the
    /// same ids.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The name of the service [default: `OTEL_SERVICE_NAME`, or the module's name]
    #[arg(long, value_name = "NAME")]
    service_name: Option<String>,
    #[command(flatten)]
    parent: ParentArgs,
}

/// What becomes one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum RootsArg {
    /// Each call from the host.
    #[default]
    Call,
    /// The run.
    Run,
}

impl SpanArgs {
    /// The library's options for these calls. The environment is read too: `SpanOptions::from_env`.
    pub fn options(&self, calls: &CallArgs) -> anyhow::Result<SpanOptions> {
        let CallChoice { functions, depth, min_nanos } = calls.without_range_and_lane()?;
        let environment = SpanOptions::from_env()?;
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
            resource: self.resource(environment.resource),
            ..environment
        })
    }

    /// The options of a profile, which has no spans. The environment is read as for [`options`](Self::options).
    pub fn profile_options(&self) -> anyhow::Result<ProfileOptions> {
        if self.roots != RootsArg::default() || self.max_spans.is_some() {
            bail!("--roots and --max-spans are for spans, and a profile has none");
        }
        Ok(ProfileOptions {
            resource: self.resource(ResourceOptions::from_env()?),
            seed: self.seed,
            parent: self.parent.context()?,
            ..ProfileOptions::default()
        })
    }

    fn resource(&self, environment: ResourceOptions) -> ResourceOptions {
        ResourceOptions {
            service_name: self.service_name.clone().or(environment.service_name),
            ..environment
        }
    }

    /// Fails if a pattern matches no function of the symbol tables before the trace's first events.
    pub fn check_early<R: Read>(&self, calls: &CallArgs, mut reader: TraceReader<R>) -> anyhow::Result<()> {
        let mut symbols = Symbols::default();
        while let Some(Item::Symbols(bytes)) = reader.next()? {
            symbols.add_bytes(bytes);
        }
        let functions = calls.without_range_and_lane()?.functions;
        check_names(&functions, symbols.iter().map(|symbol| symbol.display_name()), None)
    }

    /// Prints warnings about the trace, and how many calls are left out because their caller's span isn't sampled. Call it when
    /// all spans are made. Fails if a pattern matches nothing.
    pub fn check<R: Read>(&self, calls: &CallArgs, spans: &mut Spans<R>) -> anyhow::Result<Account> {
        let account = spans.account();
        report_account(&account);
        let names = spans.symbols().iter().map(|symbol| symbol.display_name());
        check_names(&calls.without_range_and_lane()?.functions, names, None)?;
        Ok(account)
    }
}

/// Fails if the trace has no times, which spans and metrics are made of.
pub fn check_times(header: &Header) -> anyhow::Result<()> {
    match Unit::of(header) {
        Unit::Time => Ok(()),
        Unit::Instructions => bail!(
            "the trace counts instructions and has no times, which OpenTelemetry needs; record another one without \
             `--clock instructions`"
        ),
    }
}

/// Fails if metrics of a profile are asked for only some calls.
pub fn refuse_single_calls(account: &Account, calls: &CallArgs) -> anyhow::Result<()> {
    match calls.of_single_calls_or_depth().filter(|_| account.is_profile) {
        Some(flag) => {
            bail!("metrics of a profile have no single calls; remove {flag}")
        }
        None => Ok(()),
    }
}

/// Prints on stderr what is doubtful in the spans that were made.
pub fn report_account(account: &Account) {
    traces::report_health(&account.health);
    let unsampled = account.elided.unsampled.calls;
    if unsampled > 0 {
        output::warn(format_args!(
            "{unsampled} calls have no spans, because the span that called them isn't sampled; \
             --traceparent names another"
        ));
    }
}

/// Lists how many calls were left out and why; empty if none were.
pub fn left_out(account: &Account) -> String {
    let reasons = account.elided.reasons();
    let counts: Vec<String> = reasons
        .iter()
        .filter(|(_, left)| left.calls > 0)
        .map(|(reason, left)| format!("{} {reason}", left.calls))
        .collect();
    if counts.is_empty() { String::new() } else { format!(", left out {}", counts.join(", ")) }
}
