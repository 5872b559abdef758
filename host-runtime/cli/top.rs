//! `kperf-wasm top`: where a program's time goes while it runs.

use crate::run;
use crate::run::watch::Watch;
use crate::table::color::ColorArg;
use clap::Arg;
use std::process::ExitCode;

/// Run a module and show each second which functions took the time
///
/// This is `run --record profile --every 1s` with the latest second on stderr: functions by self time, as samples saw it, and
/// how often they were called, which is exact. In a terminal it is drawn anew each time; anywhere else each second is a few
/// lines. Send the program's own output elsewhere (`> out.txt`) where it would be in the way. At the end there is the profile of all.
/// No profile is kept, unless --trace names a file for it. Other flags are those of `run`.
#[derive(clap::Args)]
#[command(
    mut_arg("plain", of_traces), mut_arg("otlp", of_traces), mut_arg("signals", of_traces), mut_arg("dataset", of_traces),
    mut_arg("clock", of_traces), mut_arg("trace", |trace| trace.help("Keep the profile in this file").long_help(None))
)]
pub struct Opts {
    #[command(flatten)]
    run: run::Opts,
    /// Show the first N functions of each second [default: as many as the terminal has room for, else 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    limit: Option<u16>,
    /// Bars and colors.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorArg,
}

/// What stands below the help.
pub const EXAMPLES: &str = "\
Examples:
  kperf-wasm top app.wasm
  kperf-wasm top app.wasm --every 200ms -- --input big.txt > out.txt
  kperf-wasm top app.wasm --limit 5 2> top.txt
  kperf-wasm top app.wasm --trace app.kperf             keep the profile, for report and view

Exit codes:
  those of `run`";

/// A flag that `top` refuses.
fn of_traces(flag: Arg) -> Arg {
    flag.hide(true)
}

impl Opts {
    /// Runs the module.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let watch = Watch::new(self.limit.map(usize::from), self.color);
        self.run.watched(watch)
    }
}
