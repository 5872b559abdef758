//! `kperf-wasm top`: where a program's time goes while it runs.

use crate::run;
use crate::run::watch::Watch;
use crate::shared::table::color::ColorArg;
use clap::Arg;
use std::process::ExitCode;

/// Run a module and show each second which functions took the time
///
/// Runs `run --record profile --every 1s` and shows the latest second on stderr: functions by sampled self time, with exact numbers of
/// calls. A terminal is redrawn each second; a file or pipe gets a few lines for each. If the program's own output is in the way,
/// redirect it (`> out.txt`). At the end the profile of the whole run is printed. It is kept only if --trace names a file. All other
/// flags are the same as in `run`.
#[derive(clap::Args)]
#[command(
    mut_arg("plain", of_traces), mut_arg("otlp", of_traces), mut_arg("signals", of_traces),
    mut_arg("clock", of_traces), mut_arg("repeat", of_traces), mut_arg("trace", |trace| trace.help("Keep the profile in this file").long_help(None))
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

/// The text after the help.
pub const EXAMPLES: &str = "\
Examples:
  kperf-wasm top app.wasm
  kperf-wasm top app.wasm --every 200ms -- --input big.txt > out.txt
  kperf-wasm top app.wasm --limit 5 2> top.txt
  kperf-wasm top app.wasm --trace app.kperf             keep the profile, for report and view

Exit codes:
  as for `run`";

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
