//! `kperf-wasm flame`: flame graphs.

use crate::filters::CallArgs;
use crate::input;
use crate::output::{Product, tell};
use crate::traces::{self, Again, Trace};
use anyhow::Context;
use kperf_profile::CallFilter;
use kperf_profile::export::flame::{self, Options};
use kperf_profile::export::folded::{self, Weight};
use kperf_profile::nanos_text;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a flame graph: each path of calls is a box as wide as its time
///
/// The picture is an SVG: click on a box to zoom, Ctrl-F to search. --reverse puts the innermost functions at the root:
/// which functions take the time, and who calls them. --chart draws what ran when, from left to right. --folded writes
/// the paths as text, for other tools.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Put the innermost functions at the root.
    #[arg(long)]
    reverse: bool,
    /// Draw a chart over time. Calls too short to be seen are left out, unless --min-time says which.
    #[arg(long, conflicts_with = "reverse")]
    chart: bool,
    /// Write folded stacks, a line per path: `main;step 1234`.
    #[arg(long, conflicts_with_all = ["reverse", "chart"])]
    folded: bool,
    /// What the widths and numbers are: `time` in nanoseconds, or `calls`.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "time", conflicts_with = "chart")]
    by: By,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm flame app.kperf -o flame.svg
  kperf-wasm flame app.kperf -o reverse.svg --reverse
  kperf-wasm flame app.kperf -o chart.svg --chart --range 10ms~20ms
  kperf-wasm flame app.kperf -o - --folded | sort -k2 -n

Exit codes:
  0 fine (of a damaged trace what can be read is drawn), 1 failure, 2 wrong usage";

/// What boxes are measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Time,
    Calls,
}

/// A chart leaves out calls of less than this part of the whole time: some are not a pixel wide.
const PARTS: u64 = 4_000;

impl Opts {
    /// Draws, and says on stderr of what.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let calls = self.calls.parse()?;
        let again = Again::new(&self.trace)?;
        let profile = again.profile_of(&calls)?;
        traces::tell_warnings(&profile.health);
        let weight = if self.by == By::Calls { Weight::Calls } else { Weight::Nanos };
        let program = input::module_name(&self.trace);
        let options = Options { title: program, reverse: self.reverse, weight, width: None };
        let mut out = Product::create(&self.output, false)?;
        let name = out.name();
        let context = || format!("failed to write `{name}`");
        if self.chart {
            let least = calls.min_nanos().unwrap_or(profile.header.nanos(profile.tree.total_ticks()) / PARTS);
            let Trace { reader, progress } = again.open()?;
            let exported = calls.with(|filter| {
                let filter = CallFilter { min_nanos: least, ..filter.clone() };
                flame::write_chart(reader, &filter, &options, &mut out, |bytes| progress.set_position(bytes))
            });
            progress.finish_and_clear();
            let shown = exported.with_context(context)?.calls;
            let least = nanos_text(least);
            tell(format_args!("{name}: {shown} of {} calls, those of at least {least}", profile.calls()));
        } else if self.folded {
            folded::write(&profile, weight, &mut out).with_context(context)?;
            tell(format_args!("{name}: {} calls", profile.calls()));
        } else {
            flame::write(&profile, &options, &mut out).with_context(context)?;
            tell(format_args!("{name}: {} calls", profile.calls()));
        }
        Ok(ExitCode::SUCCESS)
    }
}
