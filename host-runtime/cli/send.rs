//! `kperf-wasm send`: a trace's calls as spans, to a Collector.

mod sums;

use crate::shared::delivery::{self, DeliveryArgs};
use crate::shared::flags::filters::CallArgs;
use crate::shared::flags::spans::{SpanArgs, check_times, report_account};
use crate::shared::output;
use crate::shared::signals;
use crate::shared::{input, traces};
use anyhow::{Context, bail};
use kperf_otlp::exporter::{BoxError, Sending, Signal, Source, SourceProgress};
use kperf_otlp::{Account, Request, Spans};
use kperf_trace::TraceReader;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// Send a trace to an OpenTelemetry Collector: its calls as spans, and with --signals its metrics and its profile
///
/// Each call is one span, over OTLP: HTTP or gRPC. A busy Collector is asked again, as OTLP's specification says. At the end a
/// table on stderr counts the acknowledged spans. If some were not acknowledged, send the trace again: the same trace and flags
/// give the same span ids, so a backend that stores spans by id keeps one of each.
///
/// These environment variables are read: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _PROTOCOL, _COMPRESSION, _TIMEOUT,
/// _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY and _INSECURE, each also as OTEL_EXPORTER_OTLP_TRACES_...;
/// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; OTEL_TRACES_SAMPLER and _ARG, which traces have spans;
/// OTEL_BSP_MAX_EXPORT_BATCH_SIZE, how many spans a request has at most.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// What to send, comma-separated; each is sent even if an earlier one failed. Metrics are the calls of each function and their time. A
    /// profile has the self time and the calls of each path; Collectors take it only with the feature gate `service.profilesSupport`.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', default_value = "traces")]
    signals: Vec<SignalArg>,
    /// Show no progress.
    #[arg(short, long)]
    quiet: bool,
    /// Print only failures.
    #[arg(skip)]
    only_trouble: bool,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    calls: CallArgs,
    #[command(flatten)]
    spans: SpanArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm send app.kperf
  kperf-wasm send app.kperf --endpoint http://collector:4317 --protocol grpc --compression gzip
  kperf-wasm send app.kperf --min-time 10us --depth 8
  kperf-wasm send app.kperf --signals metrics,profiles

Exit codes:
  0 everything was acknowledged, 1 not all were, or failure, 2 wrong usage; 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP";

/// OpenTelemetry's signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SignalArg {
    /// Each call as a span.
    Traces,
    /// Metrics of functions.
    Metrics,
    /// The profile.
    Profiles,
}

/// The signals that are sent while a trace is recorded.
#[derive(clap::Args)]
pub struct LiveSignals {
    /// What --otlp sends, comma-separated. Spans and windows of a profile are sent while they are recorded; metrics and the profile of a
    /// trace at the end.
    #[arg(
        long,
        value_enum,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "traces",
        requires = "otlp"
    )]
    pub signals: Vec<SignalArg>,
    /// How long --otlp retries a request after the end of the run before it gives up [default: 1m].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "otlp")]
    pub give_up_after: Option<Duration>,
}

impl Opts {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        input::refuse_folder(&self.trace)?;
        let has = |signal| self.signals.contains(&signal);
        let sums = [SignalArg::Metrics, SignalArg::Profiles].map(has);
        let is_one = has(SignalArg::Traces) as u8 + sums[0] as u8 + sums[1] as u8 == 1;
        if !is_one && !traces::can_be_read_twice(&self.trace) {
            bail!("several signals need several readings of the trace; give it as a file");
        }
        // What is refused is refused before anything is sent.
        let signals = [
            (SignalArg::Traces, Signal::Traces),
            (SignalArg::Metrics, Signal::Metrics),
            (SignalArg::Profiles, Signal::Profiles),
        ];
        for (_, signal) in signals.into_iter().filter(|(arg, _)| has(*arg)) {
            Sending::check(&self.delivery.config_for(signal)?)?;
        }
        if has(SignalArg::Traces) || sums[0] {
            self.spans.options(&self.calls)?;
        }
        if sums[1] {
            self.spans.profile_options()?;
        }
        let mut code = ExitCode::SUCCESS;
        for (signal, _) in signals.into_iter().filter(|(arg, _)| has(*arg)) {
            let sent = match signal {
                SignalArg::Traces => self.send_spans()?,
                SignalArg::Metrics => self.send_metrics()?,
                SignalArg::Profiles => self.send_profile()?,
            };
            // A Collector may take one signal and not another. After a signal of the system's nothing more is sent.
            if sent != ExitCode::SUCCESS && sent != ExitCode::FAILURE {
                return Ok(sent);
            }
            code = if sent == ExitCode::SUCCESS { code } else { sent };
        }
        Ok(code)
    }

    fn send_spans(&self) -> anyhow::Result<ExitCode> {
        let config = self.delivery.config()?;
        let can_repeat = traces::can_be_read_twice(&self.trace);
        let options = self.spans.options(&self.calls)?;
        if can_repeat {
            self.spans.check_early(&self.calls, self.open()?)?;
        }
        let reader = self.open()?;
        let length = self.trace.metadata().ok().filter(|metadata| metadata.is_file()).map(|file| file.len());
        let (account_sender, account) = mpsc::channel();
        let open = move || Ok(Watched { spans: Spans::new(reader, options), sender: account_sender });
        let sending = Sending::start(config.clone(), open).context("failed to send the trace")?;
        let (signal_sender, signal) = mpsc::channel();
        let stopper = sending.stopper();
        signals::watch(move |signal| {
            // The receiver lives until the process ends.
            let _ = signal_sender.send(signal);
            stopper.stop();
        })?;
        let delivery = delivery::wait(sending, length, self.quiet);
        if let Ok(account) = account.try_recv() {
            report_account(&account);
        }
        delivery::show(&delivery, &config);
        if delivery.is_complete() {
            return Ok(ExitCode::SUCCESS);
        }
        if can_repeat && delivery.can_be_sent_again() {
            output::status(how_to_repeat(&self.trace));
        }
        Ok(signal.try_recv().map_or(ExitCode::FAILURE, signals::Signal::code))
    }

    fn open(&self) -> anyhow::Result<TraceReader<Box<dyn Read + Send>>> {
        let context = || format!("failed to read the trace `{}`", input::name(&self.trace));
        let input: Box<dyn Read + Send> = match self.trace == Path::new("-") {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(&self.trace).with_context(context)?),
        };
        let reader = TraceReader::new(input).with_context(context)?;
        let reader = reader.with_names(self.calls.symbols.namer(&self.trace, true)?);
        check_times(reader.header())?;
        Ok(reader)
    }
}

/// Spans that pass on their account at the end, with the trace's health.
struct Watched<R: Read> {
    spans: Spans<R>,
    sender: mpsc::Sender<Account>,
}

impl<R: Read> Source for Watched<R> {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        let request = self.spans.next_request()?;
        if request.is_none() {
            // This happens once. After a stop, the receiver may be gone.
            let _ = self.sender.send(self.spans.account());
        }
        Ok(request)
    }

    fn progress(&mut self) -> SourceProgress {
        self.spans.progress()
    }
}

/// Sends the signals of a whole trace, with the defaults of `send` except for the Collector's address. Returns whether all were
/// acknowledged.
pub fn send_whole(
    trace: &Path,
    delivery: DeliveryArgs,
    signals: Vec<SignalArg>,
    quiet: bool,
) -> anyhow::Result<bool> {
    let opts = Opts {
        trace: trace.to_owned(),
        signals,
        quiet,
        only_trouble: quiet,
        delivery,
        calls: CallArgs::default(),
        spans: SpanArgs::default(),
    };
    Ok(opts.run()? == ExitCode::SUCCESS)
}

/// How to send the missing spans.
pub fn how_to_repeat(trace: &Path) -> String {
    format!("`kperf-wasm send {}` sends all spans again, with the same ids", trace.display())
}
