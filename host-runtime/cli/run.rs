//! `kperf-wasm run`: adds probes to a module, runs it, and shows where its time went.

mod clock;
mod component;
mod deterministic;
mod guest;
mod http;
mod imports;
mod invoke;
mod keep;
pub mod live;
mod module;
mod names;
mod outcome;
mod probing;
mod program;
mod repeat;
mod shown;
mod summary;
mod wasi;
pub mod watch;
mod wave;

use crate::send::{LiveSignals, SignalArg};
use crate::shared::flags::parents::ParentArgs;
use crate::shared::flags::probes::{self, ProbeArg, ProbeArgs};
use crate::shared::flags::sampling::{RecordArg, RecordArgs, SamplingArgs, SpanMin, StackArg};
use crate::shared::output;
use crate::shared::signals;
use anyhow::{Context, bail};
use clock::ClockArg;
use component::ComponentProgram;
use guest::{Guest, Kind, Recording};
use http::HttpProgram;
use keep::{Dumps, KeepArgs};
use kperf_rewriter::Warning;
use kperf_wasmtime::{ClockChoice, ErrorKind, HAS_NATIVE_STACKS, Recorder, Sampling, WhenFull};
use live::{Live, Wanted};
use module::{Host, ModuleProgram};
use names::Names;
use outcome::Outcome;
use program::{Program, UseCache};
use repeat::{Repeat, RepeatedProgram};
use shown::show;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use summary::Summary;
use wasi::{Streams, WasiArgs};
use watch::Watch;

/// Run a module or a component with probes around its functions, and show where its time went
///
/// A module must be a WASI preview 1 command or, with --invoke, any module that imports nothing but WASI preview 1. A component must
/// be a command of WASI 0.2 or 0.3 or, with --invoke, any that imports nothing else; with --http it answers requests. It runs under
/// wasmtime. Without flags it makes a profile: exact counts, and samples of the open calls. With --trace, or another flag for traces, every
/// call is recorded. At the end stderr shows the functions that took the most time.
/// The guest's input, output and exit code stay its own. A module that `rewrite` made keeps the probes it has.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The module, binary or text; `-` is stdin.
    #[arg(value_name = "MODULE")]
    module: PathBuf,
    /// Arguments for the guest, or for the function of --invoke. Put `--` before them if one begins with a dash.
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
    /// Call this exported function with ARGS instead of `_start`, and print its results. A reactor's `_initialize` is called
    /// first. Arguments and results of a component's functions are in WAVE: `--invoke 'get("key", some(3))'`.
    #[arg(long, value_name = "FUNC")]
    invoke: Option<String>,
    /// Answer HTTP requests at this address (`127.0.0.1:8080`; port 0 takes a free one) with a component that handles them
    /// (`wasi:http/incoming-handler`), with a new instance for each request, until Ctrl-C. Calls have the request's `traceparent` as their parent.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "invoke")]
    http: Option<String>,
    /// Record every call, and write the trace to FILE; with --record profile, write the profile there. Without this flag, a profile goes to
    /// NAME.kperf in the current folder.
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    trace: Option<PathBuf>,
    /// How the calls of a trace are timed. `precise` reads the clock at every event. `ticker[:PERIOD]` reads a copy of the time that another
    /// thread renews every PERIOD (2us; 500us if processors are busy; 1ms if there is only one): it costs a third, and times are
    /// as rough as a sampler's. `auto` is the ticker, where a trace is made. `test` counts one microsecond for each reading, for exact output.
    /// `instructions` counts the instructions that the guest executes, the same on every machine and in every run (see
    /// --deterministic).
    #[arg(long, value_name = "CLOCK", default_value = "auto", conflicts_with = "plain")]
    clock: ClockArg,
    /// Run the program N times as it is, for its times, and in turn N times with probes, for its calls; or `until:2%`, until no share
    /// of self time is off by more than 2 points. Each run is a new instance. The report has the means of the runs and their
    /// errors, and `diff` compares the runs. All runs read the same stdin; only the first one's output is shown. Only for commands that
    /// may run more than once.
    #[arg(long, value_name = "N", conflicts_with_all = ["plain", "http", "otlp", "clock", "record", "span_min", "stack", "every", "probe", "leaf", "allocations"])]
    repeat: Option<Repeat>,
    /// Compile the module again even if wasmtime's cache has it. (The cache is wasmtime's own; see `wasmtime config`.)
    #[arg(long)]
    no_cache: bool,
    /// Print nothing but errors: no report, no warnings.
    #[arg(short, long)]
    quiet: bool,
    /// Run the module without probes and without a trace, for comparison.
    #[arg(long)]
    plain: bool,
    /// Write the functions' names to `/tmp/perf-PID.map`, for `perf` and other profilers of the whole machine. The file stays.
    #[arg(long)]
    perf_map: bool,
    /// Send the calls as spans to an OpenTelemetry Collector while the guest runs. They are read from the trace, so a slow
    /// Collector doesn't slow the guest, and no span is lost. Every call is recorded, unless --record says otherwise. ENDPOINT is http://HOST:PORT; without it OpenTelemetry's
    /// environment variables say where to send (see `send --help`).
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "", conflicts_with = "plain", value_parser = live::endpoint)]
    otlp: Option<String>,
    #[command(flatten)]
    live: LiveSignals,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    parent: ParentArgs,
    #[command(flatten)]
    wasi: WasiArgs,
    #[command(flatten)]
    probes: ProbeArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Shows the profile while it is recorded.
    #[arg(skip)]
    watch: Option<Watch>,
    /// Whether a profile is made since no flag says what to record.
    #[arg(skip)]
    chose_profile: bool,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm run app.wasm                            exact counts and samples
  kperf-wasm run app.wasm --only 'app::*' --trace app.kperf -- --verbose input.txt
  kperf-wasm run app.wasm --dir . --dir /data::/in --env LOG=debug --clock precise
  kperf-wasm run fib.wat --invoke fib 30
  kperf-wasm run shop.component.wasm --invoke 'total([{price: 3, count: 2}])'
  kperf-wasm run handler.wasm --http 127.0.0.1:8080  answers requests, each with a new instance
  kperf-wasm run app.wasm --trace app.kperf          every call, in order
  kperf-wasm run app.wasm --keep 10s --trace app.kperf   the last calls, on SIGUSR1, a trap, and at the end
  kperf-wasm run app.wasm --repeat 10                means of ten runs, with errors
  kperf-wasm run app.wasm --clock instructions --deterministic
  kperf-wasm run app.wasm --otlp http://localhost:4318
  kperf-wasm run app.wasm --record profile --every 10s --otlp --signals traces,profiles

Exit codes:
  the guest's own; 134 if it traps, 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP (the trace is whole then too);
  1 failure, also if the guest ended with 0 but the Collector of --otlp didn't take everything; 2 wrong usage";

/// How often `top` shows the profile.
const EVERY: Duration = Duration::from_secs(1);

impl Opts {
    /// Records a profile and shows it while it grows. It is kept only if --trace names a file.
    pub fn watched(mut self, watch: Watch) -> anyhow::Result<ExitCode> {
        let of_traces = self.plain || self.otlp.is_some() || self.keep.is_given();
        if of_traces || self.clock != ClockArg::Auto || self.repeat.is_some() {
            bail!("`top` takes a profile; --plain, --otlp, --clock, --keep and --repeat are for `run`");
        }
        self.probes.record.record = Some(RecordArg::Profile);
        self.sampling.every_or(EVERY);
        self.watch = Some(watch);
        self.run()
    }

    /// Runs the module.
    pub fn run(mut self) -> anyhow::Result<ExitCode> {
        if self.probes.probe == ProbeArg::Itself {
            bail!("--probe self is for `rewrite`: the module then records itself, in any runtime");
        }
        if self.repeat.is_some() {
            // What the instances have in common: samples on the thread's stack. Slow calls aren't found without counts.
            let RecordArgs { record, span_min, .. } = &mut self.probes.record;
            (*record, *span_min) = (Some(RecordArg::Profile), Some(SpanMin::Off));
            self.sampling.every_or(repeat::WINDOW);
            self.sampling.period_or(repeat::PERIOD);
        }
        if self.keep.is_given() && self.probes.record.is_profile() {
            bail!("--keep keeps calls, which a profile doesn't have; remove --record profile");
        }
        let guest = Guest::read(&self.module)?;
        self.chose_profile = self.probes.record.record.is_none() && self.wants_profile(&guest);
        if self.chose_profile {
            self.probes.record.record = Some(RecordArg::Profile);
        }
        let clock = self.clock(&guest)?;
        let (guest, mut program) = self.program(guest, clock)?;
        if self.perf_map {
            program.perf_map(&Names::tables(&guest))?;
            if !self.quiet {
                let process = std::process::id();
                output::status(format_args!("names for perf: /tmp/perf-{process}.map"));
            }
        }
        if self.plain {
            let result = program.run();
            return Outcome::of(&result, || Names::of(&guest)).report(result);
        }
        let trace = self.trace_path(&guest);
        let (live, dumps) = (Live::default(), Dumps::default());
        // From here on there is a trace: a signal waits until it can be finished.
        let (ready, recording) = mpsc::channel::<(Recorder, Box<dyn FnOnce() -> bool + Send>)>();
        let at_signal = dumps.clone();
        signals::watch(move |signal| {
            if let Ok((recorder, show)) = recording.recv() {
                at_signal.request(&format!("interrupted by {}", signal.name()));
                match recorder.interrupt(&format!("interrupted by {}", signal.name())) {
                    // The exit code is the signal's, even if spans were not sent.
                    Ok(_) => _ = show(),
                    // The guest ended at the same moment: the trace is finished.
                    Err(error) if matches!(error.kind(), ErrorKind::Finished) => {}
                    Err(error) => output::error(format_args!("{:#}", anyhow::Error::from(error))),
                }
            }
            signal.exit();
        })?;
        if self.keep.is_given() {
            let dumps = dumps.clone();
            signals::at_user_signal(move || dumps.request("SIGUSR1"))?;
        }
        let recorder = self.recorder(&*program, &guest, clock, &trace, &live, &dumps)?;
        program.link(&recorder, &guest)?;
        let sums_up = !self.quiet && self.watch.is_none() && self.http.is_none() && !self.keep.is_given();
        let is_trace = guest.recording().is_some_and(|recording| !recording.is_profile());
        let summary = if sums_up && is_trace { Summary::begin(&trace) } else { Summary::default() };
        let show = {
            let (trace, quiet, live, watch) = (trace.clone(), self.quiet, live.clone(), self.watch.clone());
            let (keeps, dumps) = (self.keep.is_given(), dumps.clone());
            move || {
                match &watch {
                    Some(watch) => watch.finish(),
                    None if keeps => return dumps.finish(quiet),
                    None => show(&trace, quiet, &summary),
                }
                live.finish()
            }
        };
        // If that thread is gone, it is ending the process.
        let _ = ready.send((recorder.clone(), Box::new(show.clone())));
        let result = program.run();
        let outcome = Outcome::of(&result, || Names::of(&guest));
        dumps.request(&outcome.to_string());
        let finished = recorder.finish(&outcome.to_string());
        if let Err(error) = &finished
            && matches!(error.kind(), ErrorKind::Finished)
        {
            // A signal came first; its thread writes the trace and ends the process.
            signals::wait();
        }
        let code = outcome.report(result);
        let finished = finished.with_context(|| format!("the trace `{}` is not complete", trace.display()));
        // The spans that are in the trace are sent even if the recording failed.
        let all_sent = match (&code, &finished) {
            (Ok(_), Ok(_)) => show(),
            _ => live.finish(),
        };
        finished?;
        Ok(if all_sent || !matches!(code, Ok(ExitCode::SUCCESS)) { code? } else { ExitCode::FAILURE })
    }

    /// Whether a profile answers best where the user doesn't say what to record: shares that the probes hardly change. Flags for traces
    /// want a trace.
    fn wants_profile(&self, guest: &Guest) -> bool {
        let is_possible = HAS_NATIVE_STACKS && !guest.is_component() && guest.probes.is_none();
        let wants_trace = self.plain
            || self.trace.is_some()
            || self.otlp.is_some()
            || self.keep.is_given()
            || self.clock != ClockArg::Auto
            || self.probes.is_for_traces();
        is_possible && !wants_trace
    }

    /// Adds probes, compiles the guest, and finds the function to call.
    fn program(&self, guest: Guest, clock: ClockChoice) -> anyhow::Result<(Guest, Box<dyn Program>)> {
        let cache = if self.no_cache { UseCache::No } else { UseCache::Yes };
        let engine = program::engine(cache, &guest)?;
        let (wasi, args, invoke) = (&self.wasi, &self.args, self.invoke.as_deref());
        match (&guest.kind, &self.http) {
            (Kind::Component { .. }, http) => {
                component::check_imports(&guest, http.is_some())?;
                if self.repeat.is_some() {
                    bail!("--repeat is for modules, and `{}` is a component", guest.path.display());
                }
                let guest = self.with_probes(guest, clock)?;
                let program: Box<dyn Program> = match http {
                    Some(address) => {
                        Box::new(HttpProgram::new(engine, &guest, wasi, args, address, self.quiet)?)
                    }
                    None => Box::new(ComponentProgram::new(engine, &guest, wasi, args, invoke)?),
                };
                Ok((guest, program))
            }
            (Kind::Module { .. }, None) => {
                let mut host = Host::new(&engine, wasi, &guest.path, args, &Streams::default())?;
                host.check_imports(&guest)?;
                if let Some(repeat) = self.repeat {
                    let (sampled, counted, warnings) = probing::repeated(guest, &self.probes)?;
                    self.report_probes(&counted, &warnings);
                    let guests = (&sampled, &counted);
                    let trace = self.trace_path(&counted);
                    let program = RepeatedProgram::new(engine, guests, wasi, args, invoke, repeat, &trace)?;
                    return Ok((counted, Box::new(program)));
                }
                let guest = self.with_probes(guest, clock)?;
                let program = ModuleProgram::new(engine, host, &guest, args, invoke)?;
                Ok((guest, Box::new(program)))
            }
            (Kind::Module { .. }, Some(_)) => bail!(
                "--http is for components that export `wasi:http/incoming-handler`, and `{}` is a module",
                guest.path.display()
            ),
        }
    }

    fn with_probes(&self, guest: Guest, clock: ClockChoice) -> anyhow::Result<Guest> {
        if self.plain {
            probing::check_plain(&guest, &self.probes)?;
            return Ok(guest);
        }
        let (guest, warnings) = probing::with_probes(guest, &self.probes, clock)?;
        self.report_probes(&guest, &warnings);
        Ok(guest)
    }

    fn report_probes(&self, guest: &Guest, warnings: &[Warning]) {
        if !self.quiet {
            probes::report_warnings(warnings);
            guest.symbols.iter().for_each(probes::report_allocators);
        }
    }

    fn trace_path(&self, guest: &Guest) -> PathBuf {
        self.trace.clone().unwrap_or_else(|| PathBuf::from(format!("{}.kperf", guest.name)))
    }

    /// The clock of the recording. Fails if --clock is given for a profile: its sampler reads the clock itself. A module that counts its
    /// instructions has no other clock.
    fn clock(&self, guest: &Guest) -> anyhow::Result<ClockChoice> {
        match (guest.recording(), self.clock) {
            (Some(Recording::Instructions), _) if !guest.is_inlined() && !guest.is_component() => {
                bail!(
                    "the module counts its instructions beside itself, which is for hosts in JavaScript; run the original, or \
                     rewrite it without --probe import"
                )
            }
            (Some(Recording::Instructions), ClockArg::Auto) => return Ok(ClockChoice::Instructions),
            (Some(Recording::Instructions), ClockArg::Chosen(clock))
                if clock != ClockChoice::Instructions =>
            {
                bail!(
                    "the module counts its instructions, which are its clock; run the original, or remove --clock"
                )
            }
            (
                Some(Recording::Trace | Recording::ShadowProfile | Recording::NativeProfile),
                ClockArg::Chosen(ClockChoice::Instructions),
            ) => {
                bail!("the module has probes that don't count instructions; run the original")
            }
            _ => {}
        }
        let only_profiles = self.live.signals.iter().all(|signal| *signal == SignalArg::Profiles);
        if self.otlp.is_some() && !only_profiles && self.clock == ClockArg::Chosen(ClockChoice::Instructions)
        {
            bail!(
                "spans and metrics have times, which --clock instructions does not record; remove --otlp, or send `--signals profiles`"
            );
        }
        Ok(match (self.probes.record.is_profile(), self.clock) {
            (false, clock) => clock.choose(),
            (true, ClockArg::Auto) => ClockChoice::Precise,
            (true, ClockArg::Chosen(ClockChoice::Test)) => ClockChoice::Test,
            (true, _) => bail!("--clock is for traces; a profile takes samples, every --period"),
        })
    }

    /// How the guest is sampled, if it makes a profile. Fails if the flags don't fit the module's probes.
    fn sampling(&self, recording: Option<Recording>) -> anyhow::Result<Option<Sampling>> {
        let RecordArgs { span_min, stack, .. } = self.probes.record;
        if let Some(profile) = recording.filter(|recording| recording.is_profile()) {
            let is_native = profile == Recording::NativeProfile;
            if stack != StackArg::Auto && (stack == StackArg::Native) != is_native {
                bail!("the module has the probes of the other --stack; run the original, or remove --stack");
            }
            return self.sampling.sampling(span_min, is_native).map(Some);
        }
        if self.probes.record.is_profile() && recording.is_some() {
            bail!("the module has the probes of a trace; run the original, or remove --record profile");
        }
        if self.sampling.is_given() {
            bail!("--period and --every are for --record profile");
        }
        Ok(None)
    }

    fn recorder(
        &self,
        program: &dyn Program,
        guest: &Guest,
        clock: ClockChoice,
        trace: &Path,
        live: &Live,
        dumps: &Dumps,
    ) -> anyhow::Result<Recorder> {
        if trace == Path::new("-") {
            bail!("the trace can't go to stdout, which is the guest's; name a file with --trace");
        }
        let same = match (trace.canonicalize(), self.module.canonicalize()) {
            (Ok(trace), Ok(module)) => trace == module,
            _ => false,
        };
        if same {
            bail!(
                "`{}` is the module and would be overwritten; name another file with --trace",
                trace.display()
            );
        }
        let warn = |warning| {
            if !self.quiet {
                output::warn(warning);
            }
        };
        let parent = self.parent.context_or_environment(warn)?;
        let sampling = self.sampling(guest.recording())?;
        if let (Some(_), ClockArg::Chosen(ClockChoice::Ticker { .. } | ClockChoice::Precise)) =
            (&sampling, self.clock)
        {
            bail!("the probes make a profile, and --clock is for traces; remove it, or run the original");
        }
        // A module that `rewrite` made for profiles needs no ticker either.
        let clock =
            if sampling.is_some() && self.clock == ClockArg::Auto { ClockChoice::Precise } else { clock };
        if !self.quiet && self.chose_profile {
            output::status(
                "recording: exact counts, and samples of the stack (`--trace FILE` records every call)",
            );
        }
        if !self.quiet && self.clock == ClockArg::Auto && sampling.is_none() {
            output::status(clock::describe(clock));
        }
        let chose_inline = self.probes.probe == ProbeArg::Auto && clock != ClockChoice::Instructions;
        if !self.quiet && chose_inline && guest.is_inlined() && sampling.is_none() {
            output::status(
                "probes: inline, the recorder is inside every function (`--probe import` calls one beside the module)",
            );
        }
        let builder = Recorder::builder()
            .clock(clock)
            .signals(true)
            // A pipe's reader may take its time.
            .give_up_after(None)
            .command(std::env::args())
            .when_full(WhenFull::Wait);
        let builder = if self.quiet { builder } else { builder.on_notice(|notice| output::warn(notice)) };
        let builder = match sampling {
            // The cost of events can't be measured: a profile has none.
            Some(sampling) => builder.calibrate(false).sampling(sampling),
            None => builder,
        };
        let builder = builder.parent(parent).repeated(self.repeat.is_some());
        let file = || {
            File::create(trace).with_context(|| format!("failed to create the trace `{}`", trace.display()))
        };
        let mut builder = match (&self.otlp, &self.watch) {
            _ if self.keep.is_given() => self.keep.describe(builder, guest, trace, self.quiet, dumps)?,
            (Some(endpoint), _) => {
                let signals = self.live.signals.clone();
                let is_profile = guest.recording().is_some_and(Recording::is_profile);
                let give_up_after = self.live.give_up_after;
                let wanted = Wanted { endpoint: endpoint.clone(), signals, is_profile, give_up_after };
                builder.sink(live.begin(&wanted, trace, self.quiet)?)
            }
            (None, Some(watch)) => {
                let file = self.trace.as_ref().map(|_| file()).transpose()?;
                builder.sink(watch.begin(file, self.quiet)?)
            }
            (None, None) => builder.sink(file()?),
        };
        for table in &guest.symbols {
            builder = builder.symbols(table.to_bytes());
        }
        let recorder = builder.build(program.engine());
        let recorder = recorder.with_context(|| format!("failed to record into `{}`", trace.display()))?;
        dumps.begin(&recorder);
        Ok(recorder)
    }
}
