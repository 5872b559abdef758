//! `kperf-wasm`: where does the time go in a WebAssembly module?
//!
//! One file per subcommand; this one picks the subcommand and prints its error.

// A binary has no public items. `pub` here marks what a file offers to the other files.
#![allow(unreachable_pub)]

mod annotate;
mod collect;
mod diff;
mod export;
mod flame;
mod graph;
mod info;
mod plan;
mod removed;
mod replay;
mod report;
mod rewrite;
mod run;
mod send;
mod shared;
mod top;
mod view;

use clap::Parser;
use shared::output;
use std::io::Write;
use std::process::ExitCode;

/// Where does the time go in a WebAssembly module?
///
/// Puts enter/leave probes around every function of a module, runs it, and shows where the time went.
#[derive(Parser)]
#[command(name = "kperf-wasm", version, after_help = EXAMPLES)]
enum Cli {
    Run(run::Opts),
    #[command(after_help = top::EXAMPLES)]
    Top(top::Opts),
    Report(report::Opts),
    Annotate(annotate::Opts),
    Replay(replay::Opts),
    View(view::Opts),
    Graph(graph::Opts),
    Flame(flame::Opts),
    Diff(diff::Opts),
    Collect(collect::Opts),
    Export(export::Opts),
    Send(send::Opts),
    Info(info::Opts),
    Plan(plan::Opts),
    Rewrite(rewrite::Opts),
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm run app.wasm                       run it, show where the time went, keep app.kperf
  kperf-wasm top app.wasm                       run it, show each second where the time goes
  kperf-wasm report app.kperf --sort calls      every function: calls, total, self
  kperf-wasm annotate life::step app.kperf      the source of a function, line by line
  kperf-wasm replay app.kperf --min-time 100us  the calls one by one, as a tree
  kperf-wasm view app.kperf                     timeline, flame graph and table in the browser
  kperf-wasm graph app.kperf -o app.svg         who calls whom, as a picture
  kperf-wasm flame app.kperf -o flame.svg       a flame graph
  kperf-wasm diff old.kperf new.kperf           what got slower, what is new
  kperf-wasm collect traces/ -o dataset/        many runs as tables, for DuckDB, Spark and the like
  kperf-wasm send app.kperf                     the calls as spans, to an OpenTelemetry Collector
  kperf-wasm rewrite app.wasm -o probed.wasm    only add the probes
  kperf-wasm plan app.kperf -o app.plan         what a trace that costs little leaves out

Exit codes:
  0 success, 1 failure, 2 wrong usage, 3 and 4 from `diff --fail-on`; `run` ends with the guest's own exit code";

impl Cli {
    fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Cli::Run(opts) => opts.run(),
            Cli::Top(opts) => opts.run(),
            Cli::Report(opts) => opts.run(),
            Cli::Annotate(opts) => opts.run(),
            Cli::Replay(opts) => opts.run(),
            Cli::View(opts) => opts.run(),
            Cli::Graph(opts) => opts.run(),
            Cli::Flame(opts) => opts.run(),
            Cli::Diff(opts) => opts.run(),
            Cli::Collect(opts) => opts.run(),
            Cli::Export(opts) => opts.run(),
            Cli::Send(opts) => opts.run(),
            Cli::Info(opts) => opts.run(),
            Cli::Plan(opts) => opts.run(),
            Cli::Rewrite(opts) => opts.run(),
        }
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let Some(text) = removed::error(&error) else { error.exit() };
            output::error(text);
            return ExitCode::from(2);
        }
    };
    match cli.run() {
        Ok(code) => code,
        // `kperf-wasm report | head` is no failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("error: {error}\n");
            for (n, cause) in error.chain().skip(1).enumerate() {
                if n == 0 {
                    text.push_str("\nCaused by:\n");
                }
                // A cause of several lines, such as a pattern that shows its fault, stays together.
                let cause = cause.to_string().replace('\n', "\n       ");
                text.push_str(&format!("    {n}: {cause}\n"));
            }
            if let Some(hint) = shared::hints::of(&error) {
                text.push_str(&format!("hint: {hint}\n"));
            }
            // A closed stderr loses the error.
            let _ = std::io::stderr().write_all(output::safe(&text).as_bytes());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
