//! `kperf-wasm send`: a trace's calls as spans, to a Collector.

mod journal;

use crate::delivery::{self, DeliveryArgs};
use crate::filters::CallArgs;
use crate::output::tell;
use crate::signals::{self, Signal};
use crate::spans::{SpanArgs, tell_warnings};
use crate::{input, traces};
use anyhow::Context;
use journal::{Journal, Task};
use kperf_otlp::exporter::{BoxError, Config, Receipt, Resume, Sending, Source, SourceProgress};
use kperf_otlp::{Account, Request, SpanOptions, Spans};
use kperf_trace::{Header, TraceReader};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;

/// Send a trace's calls to an OpenTelemetry Collector, as spans
///
/// One call is one span, over OTLP: HTTP or gRPC. What the Collector is too busy for is tried again as OTLP's specification
/// says. In the end a table on stderr tells what became of each span. What wasn't acknowledged can be sent later: until all
/// is, `TRACE.sent` remembers what was.
///
/// OpenTelemetry's variables are read: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _PROTOCOL, _COMPRESSION, _TIMEOUT,
/// _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY and _INSECURE, all of these also with TRACES_ before the last word,
/// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Go on where an earlier `send` or `run --otlp` of this trace was interrupted.
    #[arg(long)]
    resume: bool,
    /// Show no progress.
    #[arg(short, long)]
    quiet: bool,
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
  kperf-wasm send app.kperf --resume

Exit codes:
  0 every span was acknowledged, 1 not all were, or failure, 2 wrong usage; 130 after SIGINT, 143 after SIGTERM";

impl Opts {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let config = self.delivery.config()?;
        let again = traces::can_be_read_twice(&self.trace);
        let header = if again { Some(self.open()?.header().clone()) } else { None };
        let options = self.spans.options(&self.calls)?;
        if again {
            self.spans.check_early(&self.calls, self.open()?)?;
        }
        let resume = match &header {
            Some(header) => {
                self.journal(&Task::new(header, described(&self.calls, &self.spans, &options), &config))?
            }
            None => Resume::default(),
        };
        let reader = self.open()?;
        let length = self.trace.metadata().ok().filter(|metadata| metadata.is_file()).map(|file| file.len());
        let (tell_account, account) = mpsc::channel();
        let open = move || Ok(Watched { spans: Spans::new(reader, options), tell: tell_account });
        let sending = Sending::start(config.clone(), resume, open).context("failed to send the trace")?;
        let (tell_signal, signal) = mpsc::channel();
        let stopper = sending.stopper();
        signals::watch(move |signal| {
            // It is listened to until the process ends.
            let _ = tell_signal.send(signal);
            stopper.stop();
        })?;
        let delivery = delivery::wait(sending, length, self.quiet);
        if let Ok(account) = account.try_recv() {
            tell_warnings(&account);
        }
        delivery::show(&delivery, &config);
        if delivery.is_complete() {
            forget(&self.trace);
            return Ok(ExitCode::SUCCESS);
        }
        if header.is_some() {
            tell(how_to_resume(&self.trace));
        }
        Ok(signal.try_recv().map_or(ExitCode::FAILURE, Signal::code))
    }

    fn open(&self) -> anyhow::Result<TraceReader<Box<dyn Read + Send>>> {
        let context = || format!("failed to read the trace `{}`", input::name(&self.trace));
        let input: Box<dyn Read + Send> = match self.trace == Path::new("-") {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(&self.trace).with_context(context)?),
        };
        TraceReader::new(input).with_context(context)
    }

    /// What is known of earlier, and who writes down what comes.
    fn journal(&self, task: &Task) -> anyhow::Result<Resume> {
        let path = journal::path(&self.trace);
        if self.resume {
            if let Some((journal, earlier)) = Journal::resume(&path, task)? {
                return Ok(kept(journal, earlier));
            }
            tell(format_args!("there is no `{}`: all is sent", path.display()));
        } else {
            let acknowledged = journal::acknowledged(&path);
            if acknowledged > 0 {
                tell(format_args!(
                    "warning: {acknowledged} spans of this trace were acknowledged before; all are sent again (--resume \
                     would go on behind them)"
                ));
            }
        }
        Ok(kept(Journal::create(&path, task)?, Vec::new()))
    }
}

/// Spans that tell in the end how sound the trace was.
struct Watched<R: Read> {
    spans: Spans<R>,
    tell: mpsc::Sender<Account>,
}

impl<R: Read> Source for Watched<R> {
    fn next_request(&mut self) -> Result<Option<Request>, BoxError> {
        let request = self.spans.next_request()?;
        if request.is_none() {
            // It isn't asked again. Nobody listens once sending was stopped.
            let _ = self.tell.send(self.spans.account());
        }
        Ok(request)
    }

    fn progress(&mut self) -> SourceProgress {
        self.spans.progress()
    }
}

/// What decides which spans there are, and what is said of them.
fn described(calls: &CallArgs, spans: &SpanArgs, options: &SpanOptions) -> String {
    format!("{calls:?} {spans:?} {:?}", options.resource)
}

/// A journal for a trace that is still to be recorded, whose spans are all sent.
pub fn live_journal(trace: &Path, options: &SpanOptions, config: &Config) -> anyhow::Result<Resume> {
    let task =
        Task::new(&Header::default(), described(&CallArgs::default(), &SpanArgs::default(), options), config);
    Ok(kept(Journal::create(&journal::path(trace), &task)?, Vec::new()))
}

/// Lets the thread that sends write the journal.
fn kept(mut journal: Journal, earlier: Vec<Receipt>) -> Resume {
    Resume { earlier, on_receipt: Some(Box::new(move |receipt| journal.note(receipt))) }
}

/// All is acknowledged: nothing is left to go on with.
pub fn forget(trace: &Path) {
    // It may never have been there, for stdin.
    let _ = fs::remove_file(journal::path(trace));
}

/// How the rest can be sent.
pub fn how_to_resume(trace: &Path) -> String {
    format!("`kperf-wasm send {} --resume` sends what is missing", trace.display())
}
