//! MooBench for WebAssembly: what a call costs under each way of recording it. `scripts/bench` runs it; README.md says what is measured
//! and how.
//!
//! Each configuration of the recursion runs in a process of its own, in turn with the others, `--loops` times. Programs run in turn in
//! one process. This program is the parent, and under wasmtime also the child. Without `--bench` (`cargo test`) it makes only a few
//! thousand calls.
#![allow(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod accuracy;
#[path = "../../tests/common/burners.rs"]
mod burners;
mod child;
mod child_job;
mod comparison;
mod configuration;
mod costs;
mod guest;
mod load;
mod machine;
mod plot;
mod real;
mod report;
#[path = "../sampler/mod.rs"]
#[allow(dead_code)]
mod sampler;
#[path = "../../tests/otlp/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used)]
mod server;
mod statistics;
mod sustained;
mod tools;
mod way;
mod whamm;
mod workload;

use anyhow::Context;
use clap::Parser;
use configuration::Configuration;
use report::{Comparisons, Report, Table};
use statistics::{Loop, Row};
use std::path::{Path, PathBuf};
use tools::Tools;
use way::Host;
use workload::{Job, Language, Workload};

/// MooBench for WebAssembly.
#[derive(Parser)]
struct Opts {
    /// Where the report and its pictures go.
    #[arg(long, value_name = "FOLDER", default_value = "target/moobench")]
    out: PathBuf,
    /// Fresh processes of each configuration of the recursion (other languages and depths have fewer), and runs of each
    /// program (the published ones have twice as many).
    #[arg(long, value_name = "N", default_value_t = 10)]
    loops: usize,
    /// Recursions in each; the first half doesn't count.
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    calls: u32,
    /// Only configurations with this in their name, beside the one without probes.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Only this part: `recursion`, `depths`, `programs`, `real`, `sustained`, `costs`, `accuracy` or `clock`.
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// Measure.
    #[arg(long)]
    bench: bool,
    /// Run configurations: a job as JSON.
    #[arg(long, hide = true)]
    child: Option<String>,
}

/// Depths of the sweep, besides the 10 of all else.
const DEPTHS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
/// How often `fib` is called in a run.
const FIBS: u32 = 200;
/// The depth of MooBench.
const DEPTH: u32 = 10;

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // What `cargo test` is told for tests in general is none of its flags.
    if !std::env::args().any(|arg| arg == "--bench" || arg == "--child") {
        return smoke(root);
    }
    let opts = Opts::parse();
    if let Some(job) = &opts.child {
        let measured = guest::run(&serde_json::from_str(job)?)?;
        println!("{}", serde_json::to_string(&measured)?);
        return Ok(());
    }
    let out = root.join(&opts.out);
    std::fs::create_dir_all(&out).with_context(|| format!("failed to make `{}`", out.display()))?;
    let tools = Tools::find(root)?;
    let mut bench = Bench { root, opts: &opts, tools: &tools, report: Report::new(&tools) };
    let parts: [Part<'_>; 8] = [
        ("recursion", Bench::recursion),
        ("depths", Bench::depths),
        ("programs", Bench::programs),
        ("real", Bench::real),
        ("sustained", Bench::sustained),
        ("costs", Bench::costs),
        ("accuracy", Bench::accuracy),
        ("clock", Bench::clock),
    ];
    for (name, measure) in parts {
        if opts.part.as_ref().is_none_or(|part| part == name) {
            measure(&mut bench)?;
        }
    }
    bench.report.modules(root)?;
    bench.report.write(&out)?;
    println!("{}", out.join("README.md").display());
    Ok(())
}

/// Everything that needs nothing but this repository, a few calls each, with its counts.
fn smoke(root: &Path) -> anyhow::Result<()> {
    let tools = Tools::none();
    for language in Language::ALL {
        let job = Job {
            root: root.to_owned(),
            workload: Workload::Recursion(language, DEPTH),
            calls: 4_000,
            endpoint: None,
        };
        for configuration in
            configuration::all().filter(|c| c.host == Host::Wasmtime && c.needs(&tools).is_none())
        {
            let measured = child::run(&configuration, &job, &tools)?;
            anyhow::ensure!(measured.batches.len() == 4, "{}: {measured:?}", configuration.name);
        }
    }
    let configurations: Vec<Configuration> =
        configuration::all().filter(|c| c.host == Host::Wasmtime && c.in_programs).collect();
    let workload = Workload::Life("rust".into());
    let job = Job { root: root.to_owned(), workload, calls: 1, endpoint: None };
    let rows = comparison::compare(&configurations, 1, &job, &tools)?;
    anyhow::ensure!(rows.len() == configurations.len(), "{rows:?}");
    println!("moobench: every configuration under wasmtime has its events");
    Ok(())
}

struct Bench<'a> {
    root: &'a Path,
    opts: &'a Opts,
    tools: &'a Tools,
    report: Report,
}

/// A part of the report, and what measures it.
type Part<'a> = (&'static str, fn(&mut Bench<'a>) -> anyhow::Result<()>);

impl Bench<'_> {
    /// MooBench itself: depth 10, every configuration.
    fn recursion(&mut self) -> anyhow::Result<()> {
        for language in Language::ALL {
            let workload = Workload::Recursion(language, DEPTH);
            // The second language is there to show that it isn't the compiler.
            let loops = if language == Language::Rust { self.opts.loops } else { self.opts.loops.min(3) };
            for host in Host::ALL {
                if !workload.runs_on(host) {
                    continue;
                }
                let configurations = self.wanted(host, |_| true);
                let recursion = [(workload.clone(), self.opts.calls)];
                for rows in self.measure(&recursion, &configurations, loops)? {
                    self.report.add(Table { workload: workload.clone(), host, rows });
                }
            }
        }
        Ok(())
    }

    /// The time of a recursion by its depth, with the same number of calls at each.
    fn depths(&mut self) -> anyhow::Result<()> {
        let recursions = DEPTHS.map(|depth| {
            let calls = self.opts.calls / depth * DEPTH / 1_000 * 1_000;
            (Workload::Recursion(Language::Rust, depth), calls.max(2_000))
        });
        for host in [Host::Wasmtime, Host::Node] {
            let configurations = self.wanted(host, |configuration| configuration.in_sweep);
            let rows = self.measure(&recursions, &configurations, self.opts.loops.min(2))?;
            for (depth, rows) in DEPTHS.into_iter().zip(rows) {
                self.report.add_depth(host, depth, rows);
            }
        }
        Ok(())
    }

    /// `fib(20)` and the Game of Life.
    fn programs(&mut self) -> anyhow::Result<()> {
        let fib = Language::ALL.map(Workload::Fib);
        let life = ["rust", "c", "assemblyscript", "kotlin", "go", "wat"]
            .map(|folder| Workload::Life(folder.into()));
        for workload in fib.into_iter().chain(life) {
            for host in [Host::Wasmtime, Host::Node] {
                let configurations = self.wanted(host, |configuration| configuration.in_programs);
                self.compare(&workload, host, &configurations, self.opts.loops)?;
            }
        }
        Ok(())
    }

    /// Published programs at their work.
    fn real(&mut self) -> anyhow::Result<()> {
        if !self.has_published()? {
            return Ok(());
        }
        for host in [Host::Wasmtime, Host::Node] {
            let configurations = self.wanted(host, |configuration| configuration.in_real);
            for workload in real::Program::ALL.map(Workload::Real) {
                self.compare(&workload, host, &configurations, 2 * self.opts.loops)?;
            }
        }
        Ok(())
    }

    /// Full traces of programs, for seconds, and who takes what.
    fn sustained(&mut self) -> anyhow::Result<()> {
        if !self.has_published()? {
            return Ok(());
        }
        let life = ["go", "kotlin"].map(|folder| Workload::Life(folder.into()));
        // libpng makes 70,000 calls in half a second: what one of them costs can't be told.
        let real = real::Program::ALL.into_iter().filter(|&program| program != real::Program::Png);
        for workload in real.map(Workload::Real).chain(life) {
            eprintln!("{workload}, {} rounds of a sustained trace", self.opts.loops);
            let measured = sustained::measure(self.root, &workload, self.opts.loops);
            self.report.add_sustained(measured.with_context(|| workload.to_string())?);
            if self.tools.node.is_none() || !self.tools.node_inside {
                self.report.missing(
                    "traces for seconds in node: there is no node, or `host-runtime/js` isn't built",
                );
                continue;
            }
            eprintln!("{workload}, {} rounds of a sustained trace in node", self.opts.loops);
            let measured = sustained::node::measure(self.root, &workload, self.opts.loops, self.tools);
            self.report.add_sustained_in_node(measured.with_context(|| workload.to_string())?);
        }
        Ok(())
    }

    /// What instructions and allocations cost beside a trace of calls.
    fn costs(&mut self) -> anyhow::Result<()> {
        if !self.has_published()? {
            return Ok(());
        }
        for program in [real::Program::Sqlite, real::Program::QuickJs, real::Program::Usvg] {
            let workload = Workload::Real(program);
            eprintln!("{workload}, {} rounds of counting instructions and allocations", self.opts.loops);
            let measured = costs::measure(self.root, &workload, self.opts.loops);
            self.report.add_costs(measured.with_context(|| workload.to_string())?);
        }
        Ok(())
    }

    /// Whether profiles of published programs say what a native sampler says.
    fn accuracy(&mut self) -> anyhow::Result<()> {
        if !self.has_published()? {
            return Ok(());
        }
        for program in real::Program::ALL {
            eprintln!("{}, {} runs under each sampler", program.name(), self.opts.loops);
            let measured = accuracy::measure(self.root, program, self.opts.loops);
            self.report.add_accuracy(measured.with_context(|| program.name())?);
        }
        Ok(())
    }

    /// Whether the times of a ticker's traces are true on a busy machine.
    fn clock(&mut self) -> anyhow::Result<()> {
        if !self.has_published()? {
            return Ok(());
        }
        for program in real::Program::ALL {
            eprintln!("{}, {} runs beside {:?} busy processes", program.name(), self.opts.loops, load::BUSY);
            let measured = load::measure(self.root, program, self.opts.loops);
            self.report.add_loaded(measured.with_context(|| program.name())?);
        }
        Ok(())
    }

    /// Whether the published programs are there; the report says so if they aren't.
    fn has_published(&mut self) -> anyhow::Result<bool> {
        let there = real::are_there(self.root)?;
        if !there {
            self.report.missing("published programs: `scripts/bench` fetches them with pip, go and npm");
        }
        Ok(there)
    }

    /// Runs a program with all configurations in turn.
    fn compare(
        &mut self,
        workload: &Workload,
        host: Host,
        configurations: &[Configuration],
        rounds: usize,
    ) -> anyhow::Result<()> {
        if !workload.runs_on(host) || configurations.len() < 2 {
            return Ok(());
        }
        eprintln!("{workload}, {}, {rounds} rounds", host.name());
        let job = Job { root: self.root.to_owned(), workload: workload.clone(), calls: FIBS, endpoint: None };
        let rows = comparison::compare(configurations, rounds, &job, self.tools)
            .with_context(|| format!("{workload}, {}", host.name()))?;
        self.report.add_comparisons(Comparisons { workload: workload.clone(), host, rows });
        Ok(())
    }

    /// The configurations of a host that can run here; the others are noted.
    fn wanted(&mut self, host: Host, which: impl Fn(&Configuration) -> bool) -> Vec<Configuration> {
        let mut wanted = Vec::new();
        for configuration in configuration::all().filter(|c| c.host == host && which(c)) {
            let is_plain = configuration.name == configuration::PLAIN;
            if !is_plain && self.opts.only.as_ref().is_some_and(|word| !configuration.name.contains(word)) {
                continue;
            }
            match configuration.needs(self.tools) {
                None => wanted.push(configuration),
                Some(missing) => self.report.left_out(&configuration, missing),
            }
        }
        wanted
    }

    /// Runs each configuration of the recursion in a process of its own, between two without probes; answers the rows
    /// of each depth. A loop has all depths.
    fn measure(
        &self,
        recursions: &[(Workload, u32)],
        configurations: &[Configuration],
        loops: usize,
    ) -> anyhow::Result<Vec<Vec<Row>>> {
        let (Some((workload, _)), Some(Configuration { host, .. })) =
            (recursions.first(), configurations.first())
        else {
            return Ok(Vec::new());
        };
        let mut runs: Vec<Vec<(usize, Loop)>> = recursions.iter().map(|_| Vec::new()).collect();
        for n in 0..loops {
            eprintln!("{workload}, {}, loop {} of {loops}", host.name(), n + 1);
            for ((workload, calls), runs) in recursions.iter().zip(&mut runs) {
                for at in std::iter::once(0).chain(comparison::round(configurations.len(), n)) {
                    let configuration = &configurations[at];
                    let calls = calls / configuration.fraction;
                    let endpoint = self.tools.collector.as_ref().map(|collector| collector.endpoint.clone());
                    let job = Job { root: self.root.to_owned(), workload: workload.clone(), calls, endpoint };
                    let measured = child::run(configuration, &job, self.tools)
                        .with_context(|| format!("{workload}, {}", configuration.name))?;
                    let one = Loop::new(job.calls_of_monitored(), &measured).context("no batches")?;
                    runs.push((at, one));
                }
            }
        }
        let rows = |runs: &Vec<(usize, Loop)>| {
            let names = configurations.iter().map(|configuration| configuration.name);
            names.enumerate().filter_map(|(at, name)| Row::new(name, at, runs)).collect()
        };
        Ok(runs.iter().map(rows).collect())
    }
}
