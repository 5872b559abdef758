//! `kperf-wasm flame`: draws flame graphs.

use crate::shared::allocations;
use crate::shared::flags::filters::{CallArgs, CallSelection};
use crate::shared::input;
use crate::shared::output;
use crate::shared::product::{self, Product};
use crate::shared::traces::dataset::WhereArgs;
use crate::shared::traces::{self, RewindableTrace, Trace};
use anyhow::{Context, bail};
use kperf_export::formats::flame::{self, Options};
use kperf_export::formats::folded::{self, Weight};
use kperf_profile::{CallFilter, Heap, Profile, Unit};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw a flame graph: each path of calls is a box as wide as its time
///
/// The picture is an SVG: click on a box to zoom, press Ctrl-F to search. --reverse puts the innermost functions at the
/// root, with their callers above them. --chart draws calls over time, from left to right. --folded writes the paths as text,
/// for other tools.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, `-` for stdin, or a dataset that `collect` has made.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Put the innermost functions at the root.
    #[arg(long)]
    reverse: bool,
    /// Draw a chart over time. Calls that are too short to be seen are left out; --min-time sets the limit.
    #[arg(long, conflicts_with = "reverse")]
    chart: bool,
    /// Write folded stacks, a line per path: `main;step 1234`.
    #[arg(long, conflicts_with_all = ["reverse", "chart"])]
    folded: bool,
    /// What widths and numbers mean: `time` in nanoseconds, `calls`, or bytes of a trace with allocations.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "time", conflicts_with = "chart")]
    by: By,
    #[command(flatten)]
    dataset: WhereArgs,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm flame app.kperf -o flame.svg
  kperf-wasm flame app.kperf -o reverse.svg --reverse
  kperf-wasm flame app.kperf -o chart.svg --chart --range 10ms~20ms
  kperf-wasm flame dataset/ -o fleet.svg --where \"host = 'web-3'\"
  kperf-wasm flame app.kperf -o - --folded | sort -k2 -n

Exit codes:
  0 fine (of a damaged trace what can be read is drawn), 1 failure, 2 wrong usage";

/// What the width of a box means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Time,
    Calls,
    /// Bytes that were allocated (`run --allocations`).
    Allocated,
    /// Bytes in use at the peak.
    Peak,
    /// Bytes in use at the end.
    Live,
}

/// A chart leaves out calls that take less than one part in 4,000 of the whole time: they may be narrower than a pixel.
const PARTS: u64 = 4_000;

/// Endings of pictures that aren't SVG.
const OTHERS: [&str; 7] = ["gif", "htm", "html", "jpeg", "jpg", "pdf", "png"];

impl Opts {
    /// Draws, and prints on stderr how many calls are in the picture.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let calls = self.calls.parse()?;
        product::keep(&self.trace, &self.output)?;
        let ending = self.output.extension().unwrap_or_default().to_ascii_lowercase();
        if let Some(ending) = OTHERS.iter().find(|&&other| ending == other && !self.folded) {
            bail!(
                "`flame` draws SVG, which browsers show, not .{ending}; give a file name that ends in .svg"
            );
        }
        let flags =
            [(self.chart, "--chart"), (matches!(self.by, By::Allocated | By::Peak | By::Live), "--by")];
        for (_, flag) in flags.into_iter().filter(|(given, _)| *given) {
            self.dataset.refuse(&self.trace, flag)?;
        }
        let of_dataset = self.dataset.profile(&self.trace, &calls)?;
        let trace = match of_dataset {
            Some(_) => None,
            None => Some(traces::source(&self.trace).calls(&calls).rewindable()?),
        };
        let weight = match self.by {
            By::Time => Weight::Nanos,
            By::Calls => Weight::Calls,
            By::Allocated | By::Peak | By::Live => Weight::Bytes,
        };
        let profile = match (&trace, of_dataset) {
            (Some(trace), _) if weight == Weight::Bytes => self.bytes(trace, &calls)?,
            (Some(trace), _) => trace.profile()?,
            (None, of_dataset) => of_dataset.context("no runs")?,
        };
        traces::report_health(&profile.health);
        let what = |profile: &Profile| match weight {
            Weight::Bytes => format!("{} bytes", profile.tree.total_ticks()),
            Weight::Nanos | Weight::Calls => format!("{} calls", profile.calls()),
        };
        let program = input::module_name(&self.trace);
        let unit = Unit::of(&profile.header);
        let options = Options { title: program, reverse: self.reverse, weight, width: None, unit };
        let mut out = Product::create(&self.output, false)?;
        let name = out.name();
        let context = || format!("failed to write `{name}`");
        if let Some(trace) = trace.filter(|_| self.chart) {
            let shortest =
                calls.min_nanos().unwrap_or(profile.header.nanos(profile.tree.total_ticks()) / PARTS);
            let Trace { reader, progress, .. } = trace.open()?;
            let exported = calls.with(|filter| {
                let filter = CallFilter { min_nanos: shortest, ..filter.clone() };
                flame::write_chart(reader, &filter, &options, &mut out, |bytes| progress.set_position(bytes))
            });
            progress.finish_and_clear();
            let shown = exported.with_context(context)?.calls;
            out.finish()?;
            let shortest = unit.text(shortest);
            output::status(format_args!(
                "{name}: {shown} of {} calls, all of at least {shortest}",
                profile.calls()
            ));
        } else if self.folded {
            traces::warn_shortened(folded::write(&profile, weight, &mut out).with_context(context)?);
            out.finish()?;
            output::status(format_args!("{name}: {}", what(&profile)));
        } else {
            traces::warn_shortened(flame::write(&profile, &options, &mut out).with_context(context)?);
            out.finish()?;
            output::status(format_args!("{name}: {}", what(&profile)));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The profile with bytes instead of times.
    fn bytes(&self, trace: &RewindableTrace<'_>, calls: &CallSelection<'_>) -> anyhow::Result<Profile> {
        if let Some(flag) = calls.of_parts() {
            bail!("blocks are followed through the whole trace; remove {flag}");
        }
        let (profile, heap) = trace.observed(Heap::default())?;
        allocations::check(&profile, &heap)?;
        heap.warnings().iter().for_each(output::warn);
        let tree = heap.tree(&profile.tree, |figures| match self.by {
            By::Peak => (figures.peak_blocks, figures.peak_bytes),
            By::Live => (figures.live_blocks, figures.live_bytes),
            _ => (figures.allocated(), figures.allocated_bytes()),
        });
        Ok(Profile { tree, ..profile })
    }
}
