//! `kperf-wasm run`: adds probes to a module, runs it, and shows where its time went.

mod clock;
mod component;
mod deterministic;
mod guest;
mod http;
mod imports;
mod invoke;
pub mod live;
mod module;
mod outcome;
mod program;
mod wasi;
pub mod watch;
mod wave;

use crate::output::tell;
use crate::parents::ParentArgs;
use crate::probes::{LeafArg, ProbeArg, ProbeArgs};
use crate::sampling::{RecordArg, RecordArgs, SamplingArgs, StackArg};
use crate::send::{LiveSignals, SignalArg};
use crate::symbols::{self, SymbolArgs};
use crate::table::color::ColorArg;
use crate::table::fit::Shown;
use crate::{collect, input, signals, table, traces};
use anyhow::{Context, bail};
use clock::ClockArg;
use component::ComponentProgram;
use guest::{Guest, Host};
use http::HttpProgram;
use kperf_rewriter::{Options, Probe};
use kperf_wasmtime::{ClockChoice, ErrorKind, HAS_NATIVE_STACKS, Recorder, Sampling, WhenFull};
use live::{Live, Wanted};
use module::{Clock, Prepared};
use outcome::Outcome;
use program::{ModuleProgram, Probes, Program};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use wasi::WasiArgs;
use watch::Watch;

/// Run a module or a component with probes around its functions, and show where its time went
///
/// A module must be a WASI preview 1 command or, with --invoke, any module that imports nothing but WASI preview 1. A component must
/// be a command of WASI 0.2 or 0.3 or, with --invoke, any that imports nothing else; with --http it answers requests. It runs under wasmtime. Its calls are written to a trace, and at the end stderr shows the functions that took the most time.
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
    /// (`wasi:http/incoming-handler`), by one instance a request, until Ctrl-C. Calls have the request's `traceparent` as their parent.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "invoke")]
    http: Option<String>,
    /// Where to write the trace [default: NAME.kperf in the current folder]
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    trace: Option<PathBuf>,
    /// How calls are timed. `precise` reads the clock at every event. `ticker[:PERIOD]` reads a copy of the time that another
    /// thread renews every PERIOD (2us; 500us if processors are busy; 1ms if there is only one): it costs a third, and times are
    /// those of a sampler. `auto` is the ticker. `test` counts one microsecond for each reading, for exact output.
    /// `instructions` counts those that the guest executes, which are the same on every machine and in every run (see
    /// --deterministic).
    #[arg(long, value_name = "CLOCK", default_value = "auto", conflicts_with = "plain")]
    clock: ClockArg,
    /// Compile the module again even if wasmtime's cache has it. (The cache is wasmtime's own; see `wasmtime config`.)
    #[arg(long)]
    no_cache: bool,
    /// Print nothing but errors: no profile, no warnings.
    #[arg(short, long)]
    quiet: bool,
    /// Run the module without probes and without a trace, for comparison.
    #[arg(long)]
    plain: bool,
    /// Send the calls as spans to an OpenTelemetry Collector while the guest runs. They are read from the trace, so a slow
    /// Collector doesn't slow the guest, and no span is lost. ENDPOINT is http://HOST:PORT; without it OpenTelemetry's
    /// environment variables say where to send (see `send --help`).
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "", conflicts_with = "plain", value_parser = endpoint)]
    otlp: Option<String>,
    #[command(flatten)]
    live: LiveSignals,
    /// Add the run to a dataset when it has ended, as `collect TRACE -o DATASET` does.
    #[arg(long, value_name = "DATASET", conflicts_with = "plain")]
    dataset: Option<PathBuf>,
    #[command(flatten)]
    parent: ParentArgs,
    #[command(flatten)]
    wasi: WasiArgs,
    #[command(flatten)]
    probes: ProbeArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Who shows the profile while it is recorded.
    #[arg(skip)]
    watch: Option<Watch>,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm run app.wasm
  kperf-wasm run app.wasm --only 'app::*' --trace app.kperf -- --verbose input.txt
  kperf-wasm run app.wasm --dir . --dir /data::/in --env LOG=debug --clock precise
  kperf-wasm run fib.wat --invoke fib 30
  kperf-wasm run shop.component.wasm --invoke 'total([{price: 3, count: 2}])'
  kperf-wasm run handler.wasm --http 127.0.0.1:8080  answers requests, each by an instance of its own
  kperf-wasm run app.wasm --record profile           exact counts and samples, at some 5 %
  kperf-wasm run app.wasm --clock instructions --deterministic
  kperf-wasm run app.wasm --otlp http://localhost:4318
  kperf-wasm run app.wasm --record profile --every 10s --otlp --signals traces,profiles
  kperf-wasm run app.wasm --dataset fleet/

Exit codes:
  the guest's own; 134 if it traps, 130 after SIGINT, 143 after SIGTERM (the trace is whole then too);
  1 failure, also if the guest ended with 0 but the Collector of --otlp didn't take everything, or the
    dataset not the run; 2 wrong usage";

/// How many functions the profile shows.
const TOP: usize = 20;

/// The endpoint of `--otlp`, if it isn't the module that stands behind a flag without one.
fn endpoint(text: &str) -> Result<String, String> {
    let is_module =
        [".wasm", ".wat", ".cwasm"].iter().any(|ending| text.ends_with(ending)) && !text.contains("://");
    if is_module {
        return Err(
            "this is a module: give an endpoint before it (http://localhost:4318), or put --otlp behind it"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// How often a profile is shown that is watched.
const EVERY: Duration = Duration::from_secs(1);

impl Opts {
    /// Records a profile that is shown while it grows. It is kept only if --trace says where.
    pub fn watched(mut self, watch: Watch) -> anyhow::Result<ExitCode> {
        if self.plain || self.otlp.is_some() || self.dataset.is_some() || self.clock != ClockArg::Auto {
            bail!("`top` takes a profile; --plain, --otlp, --dataset and --clock are for `run`");
        }
        self.probes.record.record = RecordArg::Profile;
        self.sampling.every_or(EVERY);
        self.watch = Some(watch);
        self.run()
    }

    /// Runs the module.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let name = input::module_name(&self.module);
        let bytes = input::read_module(&self.module)?;
        let clock = self.clock(&bytes)?;
        let (prepared, mut program) = self.program(bytes, &name, clock)?;
        if self.plain {
            let result = program.run();
            return Outcome::of(&result, &prepared).tell(result);
        }
        let trace = self.trace.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.kperf")));
        if let Some(dataset) = &self.dataset {
            collect::prepare(&trace, dataset)?;
        }
        let live = Live::default();
        // From here on there is a trace: a signal waits until it can be finished.
        let (ready, recording) = mpsc::channel::<(Recorder, Box<dyn FnOnce() -> bool + Send>)>();
        signals::watch(move |signal| {
            if let Ok((recorder, show)) = recording.recv() {
                match recorder.interrupt(&format!("interrupted by {}", signal.name())) {
                    // The exit code tells of the signal, whether all spans were sent or not.
                    Ok(_) => _ = show(),
                    // The guest ended at the same moment: the trace is finished.
                    Err(error) if matches!(error.kind(), ErrorKind::Finished) => {}
                    Err(error) => tell(format_args!("error: {:#}", anyhow::Error::from(error))),
                }
            }
            signal.exit();
        })?;
        let recorder = self.recorder(&*program, &prepared, clock, &trace, &live)?;
        program.link(&recorder, &prepared)?;
        let show = {
            let (trace, quiet, live, watch) = (trace.clone(), self.quiet, live.clone(), self.watch.clone());
            let dataset = self.dataset.clone();
            move || {
                match &watch {
                    Some(watch) => watch.finish(),
                    None => show(&trace, quiet),
                }
                let sent = live.finish();
                dataset.as_ref().is_none_or(|dataset| collect::add_run(&trace, dataset, quiet)) && sent
            }
        };
        // If that thread is gone, it is ending the process.
        let _ = ready.send((recorder.clone(), Box::new(show.clone())));
        let result = program.run();
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
        // The spans that are in the trace are sent even if the recording failed.
        let all_sent = match (&code, &finished) {
            (Ok(_), Ok(_)) => show(),
            _ => live.finish(),
        };
        finished?;
        Ok(if all_sent || !matches!(code, Ok(ExitCode::SUCCESS)) { code? } else { ExitCode::FAILURE })
    }

    /// Adds probes, compiles the guest, and finds what to call.
    fn program(
        &self,
        wasm: Vec<u8>,
        name: &str,
        clock: ClockChoice,
    ) -> anyhow::Result<(Prepared, Box<dyn Program>)> {
        let is_component = kperf_rewriter::is_component(&wasm);
        let engine = Guest::engine(!self.no_cache, &wasm)?;
        let invoke = self.invoke.as_deref();
        if is_component {
            component::check_imports(&wasm, &self.module, self.http.is_some())?;
            let prepared = self.prepared(wasm, name, clock)?;
            if let Some(address) = &self.http {
                let (path, wasi, args) = (&self.module, &self.wasi, &self.args);
                let program = HttpProgram::new(engine, &prepared, path, wasi, args, address, self.quiet)?;
                return Ok((prepared, Box::new(program)));
            }
            let program =
                ComponentProgram::new(engine, &prepared, &self.module, &self.wasi, &self.args, invoke)?;
            return Ok((prepared, Box::new(program)));
        }
        if self.http.is_some() {
            bail!(
                "--http is for components that export `wasi:http/incoming-handler`, and `{}` is a module",
                self.module.display()
            );
        }
        let mut host = Host::new(&engine, &self.wasi, &self.module, &self.args)?;
        host.check_imports(&wasm, &self.module)?;
        let prepared = self.prepared(wasm, name, clock)?;
        let guest = Guest::compile(engine, &prepared, &self.module)?;
        let entry = invoke::Entry::find(&guest, invoke, &self.args, &self.module)?;
        Ok((prepared, Box::new(ModuleProgram { guest, host, entry, lanes: None })))
    }

    fn prepared(&self, wasm: Vec<u8>, name: &str, clock: ClockChoice) -> anyhow::Result<Prepared> {
        let prepared = if self.plain {
            if module::chooses(&self.probes.options(name.to_owned(), true, 0, Probe::Import)?) {
                bail!("--plain runs the module as it is; leave out what chooses functions");
            }
            Prepared::plain(wasm).with_context(|| format!("failed to run `{}`", self.module.display()))?
        } else {
            let prepared = if kperf_rewriter::is_component(&wasm) {
                self.probed_component(&wasm, name, clock)
            } else {
                self.probed(wasm, name, clock)
            };
            prepared.with_context(|| format!("failed to put probes into `{}`", self.module.display()))?
        };
        if !self.quiet {
            crate::probes::tell_warnings(&prepared.warnings);
            prepared.symbols.iter().for_each(crate::probes::tell_allocators);
        }
        Ok(prepared)
    }

    /// Adds probes to the modules of a component.
    fn probed_component(&self, wasm: &[u8], name: &str, clock: ClockChoice) -> anyhow::Result<Prepared> {
        if self.probes.record.is_profile() && self.probes.probe != ProbeArg::Auto {
            bail!(
                "--probe is for traces; a profile of a component has its recorder beside the modules, so leave it out"
            );
        }
        let options = if clock == ClockChoice::Instructions {
            self.probes.counting(name.to_owned(), true, 0, Probe::Import)?
        } else {
            self.probes.options(name.to_owned(), true, 0, Probe::Import)?
        };
        Prepared::probed_component(wasm, &Options { host: kperf_rewriter::Host::harmless(), ..options })
    }

    /// Adds probes to the module. The recorder goes inside where that costs less.
    fn probed(&self, wasm: Vec<u8>, name: &str, clock: ClockChoice) -> anyhow::Result<Prepared> {
        let counts = clock == ClockChoice::Instructions;
        let found = match self.probes.symbols() {
            Some(_) => None,
            None => symbols::of_module(&self.module, &wasm).map(|(_, file)| file),
        };
        let options = |auto| -> anyhow::Result<Options> {
            let options = if counts {
                if self.probes.probe == ProbeArg::Import {
                    bail!(
                        "`run` has its recorder inside a module that counts its instructions; leave --probe import out"
                    );
                }
                self.probes.counting(name.to_owned(), true, 0, Probe::Inline)?
            } else {
                self.probes.options(name.to_owned(), true, 0, auto)?
            };
            // It can call nothing but WASI, which never calls back.
            let host = kperf_rewriter::Host::harmless();
            Ok(Options { host, names: options.names.or_else(|| found.clone()), ..options })
        };
        let auto = match clock {
            _ if self.probes.record.is_profile() && HAS_NATIVE_STACKS => Probe::Count,
            ClockChoice::Ticker { .. } | ClockChoice::Instructions => Probe::Inline,
            _ if self.probes.leaf == LeafArg::Count || self.probes.allocations.is_some() => Probe::Inline,
            // Two readings of the clock cost more than the rest of a probe, so the recorder's place doesn't matter.
            ClockChoice::Precise | ClockChoice::Test => Probe::Import,
        };
        let chosen = options(auto)?;
        match Prepared::probed(&wasm, &chosen) {
            // There may be no room for a recorder inside (too many memories, say). If imported probes fail as well, their error
            // is the one to show.
            Err(_)
                if chosen.probe == Probe::Inline
                    && !counts
                    && self.probes.probe == ProbeArg::Auto
                    && self.probes.leaf == LeafArg::Time =>
            {
                Prepared::probed(&wasm, &options(Probe::Import)?)
            }
            prepared => prepared,
        }
    }

    /// The clock of the recording. For a profile, whose sampler reads the clock itself, --clock is an error. A module that was
    /// rewritten to count its instructions has no other clock.
    fn clock(&self, wasm: &[u8]) -> anyhow::Result<ClockChoice> {
        match (module::clock_of_probes(wasm), self.clock) {
            (Some(Clock::Instructions), ClockArg::Auto) => return Ok(ClockChoice::Instructions),
            (Some(Clock::Instructions), ClockArg::Chosen(clock)) if clock != ClockChoice::Instructions => {
                bail!(
                    "the module counts its instructions, which are its clock; run the original, or leave --clock out"
                )
            }
            (Some(Clock::Host), _) if module::counts_beside(wasm) => {
                bail!(
                    "the module counts its instructions beside itself, which is for hosts in JavaScript; run the original, or \
                     rewrite it without --probe import"
                )
            }
            (Some(Clock::Host), ClockArg::Chosen(ClockChoice::Instructions)) => {
                bail!("the module has probes that don't count instructions; run the original")
            }
            _ => {}
        }
        let only_profiles = self.live.signals.iter().all(|signal| *signal == SignalArg::Profiles);
        if self.otlp.is_some() && !only_profiles && self.clock == ClockArg::Chosen(ClockChoice::Instructions)
        {
            bail!(
                "spans and metrics have times, and --clock instructions tells none; leave --otlp out, or send `--signals profiles`"
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
    fn sampling(&self, probes: Probes) -> anyhow::Result<Option<Sampling>> {
        let RecordArgs { span_min, stack, .. } = self.probes.record;
        if probes.profile {
            if stack != StackArg::Auto && (stack == StackArg::Native) != probes.native {
                bail!(
                    "the module has the probes of the other --stack; run the original, or leave --stack out"
                );
            }
            return self.sampling.sampling(span_min, probes.native).map(Some);
        }
        if self.probes.record.is_profile() && probes.are_there {
            bail!("the module has the probes of a trace; run the original, or leave --record profile out");
        }
        if self.sampling.is_given() {
            bail!("--period and --every are for --record profile");
        }
        Ok(None)
    }

    fn recorder(
        &self,
        program: &dyn Program,
        prepared: &Prepared,
        clock: ClockChoice,
        trace: &Path,
        live: &Live,
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
                tell(format_args!("warning: {warning}"));
            }
        };
        let parent = self.parent.context_or_environment(warn)?;
        let probes = program.probes();
        let sampling = self.sampling(probes)?;
        if let (Some(_), ClockArg::Chosen(ClockChoice::Ticker { .. } | ClockChoice::Precise)) =
            (&sampling, self.clock)
        {
            bail!("the probes make a profile, and --clock is for traces; leave it out, or run the original");
        }
        // A module that `rewrite` made for profiles needs no ticker either.
        let clock =
            if sampling.is_some() && self.clock == ClockArg::Auto { ClockChoice::Precise } else { clock };
        if !self.quiet && self.clock == ClockArg::Auto && sampling.is_none() {
            tell(clock::describe(clock));
        }
        let chose_inline = self.probes.probe == ProbeArg::Auto && clock != ClockChoice::Instructions;
        if !self.quiet && chose_inline && probes.inlined && sampling.is_none() {
            tell(
                "probes: inline, the recorder is inside every function (`--probe import` calls one beside the module)",
            );
        }
        let builder = Recorder::builder().clock(clock).command(std::env::args()).when_full(WhenFull::Wait);
        let builder = if self.quiet {
            builder
        } else {
            builder.on_notice(|notice| tell(format_args!("warning: {notice}")))
        };
        let builder = match sampling {
            // A profile has no events whose cost could be measured.
            Some(sampling) => builder.calibrate(false).sampling(sampling),
            None => builder,
        };
        let builder = builder.parent(parent);
        let file = || {
            File::create(trace).with_context(|| format!("failed to create the trace `{}`", trace.display()))
        };
        let mut builder = match (&self.otlp, &self.watch) {
            (Some(endpoint), _) => {
                let signals = self.live.signals.clone();
                let wanted = Wanted { endpoint: endpoint.clone(), signals, is_profile: probes.profile };
                builder.sink(live.begin(&wanted, trace, self.quiet)?)
            }
            (None, Some(watch)) => {
                let file = self.trace.as_ref().map(|_| file()).transpose()?;
                builder.sink(watch.begin(file, self.quiet)?)
            }
            (None, None) => builder.sink(file()?),
        };
        for table in &prepared.symbols {
            builder = builder.symbols(table.to_bytes());
        }
        builder
            .build(program.engine())
            .with_context(|| format!("failed to record into `{}`", trace.display()))
    }
}

/// Shows the top of the trace's profile on stderr.
fn show(trace: &Path, quiet: bool) {
    // The trace may be a pipe: another process reads it, and it can't be read twice.
    if quiet || !trace.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return;
    }
    match traces::profile(trace, &SymbolArgs::default()) {
        Ok(profile) => {
            traces::tell_warnings(&profile.health);
            // If stderr is closed, nobody can be told.
            let shown = Shown::on_stderr(ColorArg::Auto.of(&io::stderr()));
            let _ = table::print_top(&profile, TOP, shown, io::stderr().lock());
            traces::tell_hints(&profile, false);
            tell(format_args!("# trace: {}", trace.display()));
        }
        // A profile that can't be shown doesn't change the exit code.
        Err(error) => tell(format_args!("warning: {error:#}")),
    }
}
