//! `kperf-wasm run`: probes a module, runs it, and shows where its time went.

mod clock;
mod guest;
mod invoke;
pub mod live;
mod module;
mod outcome;
mod wasi;

use crate::output::tell;
use crate::parents::ParentArgs;
use crate::probes::{LeafArg, ProbeArg, ProbeArgs};
use crate::sampling::{RecordArgs, SamplingArgs, StackArg};
use crate::{input, send, signals, table, traces};
use anyhow::{Context, bail};
use clock::ClockArg;
use guest::{Guest, Host};
use kperf_rewriter::Probe;
use kperf_wasmtime::{ClockChoice, ErrorKind, HAS_NATIVE_STACKS, Recorder, Sampling};
use live::Live;
use module::Prepared;
use outcome::Outcome;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wasi::WasiArgs;

/// Run a module with probes around its functions, and show where its time went
///
/// The module is a WASI preview 1 command or, with --invoke, any other that wants no more of its host than that. It runs
/// under wasmtime; its calls go to a trace, and the functions that took the most time are shown on stderr in the end.
/// The guest's own output, input and exit code are untouched. A module that `rewrite` made is run with the probes it has;
/// others get them inside every function (`--probe inline`) with a ticker, and call a recorder beside them otherwise.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The module, binary or text; `-` is stdin.
    #[arg(value_name = "MODULE")]
    module: PathBuf,
    /// What the guest gets as arguments, or the function of --invoke; after `--` where they begin with a dash.
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
    /// Call this exported function with ARGS instead of `_start`, and print its results. A reactor's `_initialize` is
    /// called before.
    #[arg(long, value_name = "FUNC")]
    invoke: Option<String>,
    /// Where to write the trace [default: NAME.kperf in the current folder]
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    trace: Option<PathBuf>,
    /// How calls are timed: `precise` reads the clock at every event; `ticker[:PERIOD]` reads a copy that another
    /// processor renews every PERIOD (2us), which costs a third and gives times as a sampler's; `auto` is the ticker where
    /// there are two processors. (`test` counts a microsecond for each reading, for exact output.)
    #[arg(long, value_name = "CLOCK", default_value = "auto", conflicts_with = "plain")]
    clock: ClockArg,
    /// Show no profile in the end, and nothing else of ours but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Run the module as it is, without probes and trace, for comparison.
    #[arg(long)]
    plain: bool,
    /// Send the calls as spans to an OpenTelemetry Collector while the guest runs, from the trace: a slow Collector slows
    /// nothing, and no span is lost. Where to is said by ENDPOINT (http://HOST:PORT) or by OpenTelemetry's variables, see
    /// `send`.
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "", conflicts_with = "plain")]
    otlp: Option<String>,
    #[command(flatten)]
    parent: ParentArgs,
    #[command(flatten)]
    wasi: WasiArgs,
    #[command(flatten)]
    probes: ProbeArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm run app.wasm
  kperf-wasm run app.wasm --only 'app::*' --trace app.kperf -- --verbose input.txt
  kperf-wasm run app.wasm --dir . --dir /data::/in --env LOG=debug --clock precise
  kperf-wasm run fib.wat --invoke fib 30
  kperf-wasm run app.wasm --record profile           exact counts and samples, at some 5 %
  kperf-wasm run app.wasm --otlp http://localhost:4318

Exit codes:
  the guest's own; 134 if it traps, 130 after SIGINT, 143 after SIGTERM (the trace is whole then too);
  1 failure, also where --otlp was not acknowledged every span of a guest that ended with 0; 2 wrong usage";

/// How many functions the profile shows.
const TOP: usize = 20;

impl Opts {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let name = input::module_name(&self.module);
        let bytes = input::read_module(&self.module)?;
        let clock = self.clock()?;
        let prepared = if self.plain {
            if module::chooses(&self.probes.options(name.clone(), true, 0, Probe::Import)?) {
                bail!("--plain runs the module as it is; leave out what chooses functions");
            }
            Prepared::plain(bytes).with_context(|| format!("failed to run `{}`", self.module.display()))?
        } else {
            self.probed(bytes, &name, clock)
                .with_context(|| format!("failed to put probes into `{}`", self.module.display()))?
        };
        if !self.quiet {
            crate::probes::tell_warnings(&prepared.warnings);
        }
        let mut guest = Guest::compile(&prepared, &self.module)?;
        let mut host = Host::new(&guest, &self.wasi, &self.module, &self.args)?;
        host.check_imports(&guest, &self.module)?;
        guest.entry = invoke::Entry::find(&guest, self.invoke.as_deref(), &self.args, &self.module)?;
        if self.plain {
            let result = host.run(&guest, None);
            return Outcome::of(&result, &prepared).tell(result);
        }
        let trace = self.trace.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.kperf")));
        let live = Live::default();
        let recorder = self.recorder(&guest, &prepared, clock, &trace, &live)?;
        let lanes = host.link(&guest, &recorder)?;
        let show = {
            let (trace, quiet, live) = (trace.clone(), self.quiet, live.clone());
            move || {
                show(&trace, quiet);
                live.finish()
            }
        };
        let (recording, on_signal) = (recorder.clone(), show.clone());
        signals::watch(move |signal| {
            match recording.interrupt(&format!("interrupted by {}", signal.name())) {
                // The exit code tells of the signal, whether all spans were sent or not.
                Ok(_) => _ = on_signal(),
                // The guest ended at the same moment: the trace is finished.
                Err(error) if matches!(error.kind(), ErrorKind::Finished) => {}
                Err(error) => tell(format_args!("error: {:#}", anyhow::Error::from(error))),
            }
            signal.exit();
        })?;
        let result = host.run(&guest, Some(&lanes));
        let outcome = Outcome::of(&result, &prepared);
        let finished = recorder.finish(&outcome.to_string());
        if let Err(error) = &finished
            && matches!(error.kind(), ErrorKind::Finished)
        {
            // A signal came first; its thread writes the trace and ends the process.
            signals::wait();
        }
        let code = outcome.tell(result);
        let finished = finished.with_context(|| format!("the trace `{}` is not complete", trace.display()));
        // What there is of a trace is sent, whatever came of the rest.
        let all_sent = match (&code, &finished) {
            (Ok(_), Ok(_)) => show(),
            _ => live.finish(),
        };
        finished?;
        Ok(if all_sent || !matches!(code, Ok(ExitCode::SUCCESS)) { code? } else { ExitCode::FAILURE })
    }

    /// The module with probes: with its recorder inside where that pays.
    fn probed(&self, wasm: Vec<u8>, name: &str, clock: ClockChoice) -> anyhow::Result<Prepared> {
        let options = |auto| self.probes.options(name.to_owned(), true, 0, auto);
        let auto = match clock {
            _ if self.probes.record.is_profile() && HAS_NATIVE_STACKS => Probe::Count,
            ClockChoice::Ticker { .. } => Probe::Inline,
            _ if self.probes.leaf == LeafArg::Count => Probe::Inline,
            // Two readings of the clock a call cost more than all else, wherever the recorder is.
            ClockChoice::Precise | ClockChoice::Test => Probe::Import,
        };
        let chosen = options(auto)?;
        match Prepared::probed(&wasm, &chosen) {
            // It has no room for a recorder (a hundred memories, say). If it can't be probed otherwise either, that says why.
            Err(_)
                if chosen.probe == Probe::Inline
                    && self.probes.probe == ProbeArg::Auto
                    && self.probes.leaf == LeafArg::Time =>
            {
                Prepared::probed(&wasm, &options(Probe::Import)?)
            }
            prepared => prepared,
        }
    }

    /// A profile reads the clock itself.
    fn clock(&self) -> anyhow::Result<ClockChoice> {
        Ok(match (self.probes.record.is_profile(), self.clock) {
            (false, clock) => clock.choose(),
            (true, ClockArg::Auto) => ClockChoice::Precise,
            (true, ClockArg::Chosen(ClockChoice::Test)) => ClockChoice::Test,
            (true, _) => bail!("--clock says how each call is timed; a profile's samples have a --period"),
        })
    }

    /// Whether the guest makes a profile, which flags it must go with, and how it is sampled then.
    fn sampling(&self, guest: &Guest) -> anyhow::Result<Option<Sampling>> {
        let RecordArgs { span_min, stack, .. } = self.probes.record;
        if guest.is_profile() {
            if stack != StackArg::Auto && (stack == StackArg::Native) != guest.is_native() {
                bail!("the module has probes for the other --stack; run the original, or leave --stack out");
            }
            return self.sampling.sampling(span_min, guest.is_native()).map(Some);
        }
        if self.probes.record.is_profile() && guest.is_probed() {
            bail!("the module has the probes of a trace; run the original, or leave --record profile out");
        }
        if self.sampling.is_given() {
            bail!("--period and --every are for --record profile");
        }
        Ok(None)
    }

    fn recorder(
        &self,
        guest: &Guest,
        prepared: &Prepared,
        clock: ClockChoice,
        trace: &Path,
        live: &Live,
    ) -> anyhow::Result<Recorder> {
        if trace == Path::new("-") {
            bail!("stdout is the guest's, the trace can't go there; name a file with --trace");
        }
        let same = match (trace.canonicalize(), self.module.canonicalize()) {
            (Ok(trace), Ok(module)) => trace == module,
            _ => false,
        };
        if same {
            bail!(
                "`{}` would be overwritten, which is the module; name another file with --trace",
                trace.display()
            );
        }
        let warn = |warning| {
            if !self.quiet {
                tell(format_args!("warning: {warning}"));
            }
        };
        let parent = self.parent.context_or_environment(warn)?;
        let sampling = self.sampling(guest)?;
        // A module that was rewritten to make a profile needs no ticker either.
        let clock =
            if sampling.is_some() && self.clock == ClockArg::Auto { ClockChoice::Precise } else { clock };
        if !self.quiet && self.clock == ClockArg::Auto && sampling.is_none() {
            tell(clock::describe(clock));
        }
        if !self.quiet && self.probes.probe == ProbeArg::Auto && guest.is_inlined() && sampling.is_none() {
            tell(
                "probes: inline, the recorder is inside every function (`--probe import` calls one beside the module)",
            );
        }
        let builder = Recorder::builder().clock(clock).inlined(guest.is_inlined()).command(std::env::args());
        let builder = match sampling {
            // There is no event whose cost could be taken off.
            Some(sampling) => builder.calibrate(false).sampling(sampling),
            None => builder,
        };
        let builder = builder.parent(parent);
        let mut builder = match &self.otlp {
            Some(endpoint) => builder.sink(live.begin(endpoint, trace, self.quiet)?),
            None => {
                // What was sent of an earlier trace of this name.
                send::forget(trace);
                builder.sink(
                    File::create(trace)
                        .with_context(|| format!("failed to create the trace `{}`", trace.display()))?,
                )
            }
        };
        if let Some(table) = &prepared.symbols {
            builder = builder.symbols(table.to_bytes());
        }
        let recorder = builder
            .build(&guest.engine)
            .with_context(|| format!("failed to record into `{}`", trace.display()))?;
        if let Some(table) = prepared.symbols.as_ref().filter(|_| guest.is_native()) {
            recorder.native_code(&guest.module, &table.to_bytes())?;
        }
        Ok(recorder)
    }
}

/// Shows the top of the trace's profile on stderr.
fn show(trace: &Path, quiet: bool) {
    // A pipe that somebody else reads can't be read again.
    if quiet || !trace.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return;
    }
    match traces::profile(trace) {
        Ok(profile) => {
            traces::tell_warnings(&profile.health);
            // Nobody is left to tell if stderr is closed.
            let _ = table::print_top(&profile, TOP, io::stderr().lock());
            tell(format_args!("# trace: {}", trace.display()));
        }
        // The guest's exit code counts, not whether its profile could be shown.
        Err(error) => tell(format_args!("warning: {error:#}")),
    }
}
