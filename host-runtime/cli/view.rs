//! `kperf-wasm view`: writes a page for the browser.

use crate::shared::flags::filters::CallArgs;
use crate::shared::input;
use crate::shared::output;
use crate::shared::product::{self, Product};
use crate::shared::table::{grouped, plural};
use crate::shared::traces;
use crate::shared::traces::dataset::WhereArgs;
use anyhow::{Context, bail};
use kperf_export::view::{self, SPANS, Written};
use kperf_profile::{Heap, Profile, Slices, Timeline, Unit, WindowChoice};
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Look at a trace in the browser: timeline, flame graph, table and call graph in one page
///
/// The page is one HTML file that needs no other file and no network, so you can send it to others. Its counts, times and
/// callers cover all calls, or the selected range of time. In the timeline, short calls that fall into
/// one pixel are drawn as one. Zooming in takes them apart, down to single calls if --detail allows it; what stays together
/// is hatched. The page of a dataset has no timeline.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, `-` for stdin, or a dataset that `collect` has made.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write the page, or `-` for stdout [default: NAME.html in the current folder]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Only write the page, don't open it in the browser.
    #[arg(long)]
    no_open: bool,
    /// How many spans the timeline's finest level may have. A million take some megabytes of the page. Figures of
    /// a selected range come from a quarter as many slices.
    #[arg(long, value_name = "SPANS", default_value_t = SPANS)]
    detail: usize,
    #[command(flatten)]
    dataset: WhereArgs,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm view app.kperf
  kperf-wasm view app.kperf --no-open -o /tmp/app.html
  kperf-wasm view app.kperf --detail 10000000         every call of a long trace, in a large page
  kperf-wasm view dataset/ --where \"version = 'b'\"      all runs of a version

Exit codes:
  0 fine (a damaged trace is shown as far as it can be read), 1 failure, 2 wrong usage";

impl Opts {
    /// Writes the page and opens it. If no browser can be opened, that is only a warning.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let title = input::module_name(&self.trace);
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from(format!("{title}.html")));
        let to_stdout = output == Path::new("-");
        if to_stdout && io::stdout().is_terminal() {
            bail!("the page is long and stdout is a terminal; name a file with -o FILE.html, or pipe it");
        }
        product::keep(&self.trace, &output)?;
        if self.detail != SPANS {
            self.dataset.refuse(&self.trace, "--detail")?;
        }
        if let Some(profile) = self.dataset.profile(&self.trace, &self.calls.parse()?)? {
            traces::report_health(&profile.health);
            self.write(&output, |out| {
                let title = self.dataset.title(&title);
                view::write_html_of_sums(&profile, &title, out)?;
                let (calls, sum) = (plural(profile.calls(), "call"), profile.health.outcome());
                Ok(format!(
                    "{calls}, {}; without a timeline: a dataset has sums of calls, not single ones",
                    sum.unwrap_or("of one run")
                ))
            })?;
            return Ok(ExitCode::SUCCESS);
        }
        let (profile, (calls, mut heap)) = self.read()?;
        if self.calls.parse()?.of_parts().is_some() {
            // Blocks are followed through the whole trace, or not at all.
            heap = Heap::default();
        }
        let seen = (calls, heap);
        traces::report_health(&profile.health);
        self.write(&output, |out| {
            let written = view::write_html(&profile, seen, &title, out)?;
            Ok(describe(&profile, written))
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the page, prints the summary that `write` returns, and opens the page.
    fn write(
        &self,
        output: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<String>,
    ) -> anyhow::Result<()> {
        if output == Path::new("-") {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out).context("failed to write to stdout")?;
            return Ok(());
        }
        let mut out = Product::create(output, false)?;
        let summary = write(&mut out).with_context(|| format!("failed to write `{}`", output.display()))?;
        out.finish()?;
        output::status(format_args!("{}: {summary}", output.display()));
        if !self.no_open {
            open(output);
        }
        Ok(())
    }
}

/// Single calls and memory, for the page.
type Seen = ((Timeline, Slices), Heap);

impl Opts {
    /// The profile, and single calls and memory for the page.
    fn read(&self) -> anyhow::Result<(Profile, Seen)> {
        let observers =
            || ((Timeline::new(self.detail), Slices::new(view::entries(self.detail))), Heap::default());
        let mut calls = self.calls.parse()?;
        let read = traces::source(&self.trace).calls(&calls).observed(observers())?;
        if read.0.sampling().is_none() || !traces::can_be_read_twice(&self.trace) {
            return Ok(read);
        }
        // Windows are known only now. A profile is short.
        calls.windows = WindowChoice::Each;
        traces::source(&self.trace).calls(&calls).observed(observers())
    }
}

fn describe(profile: &Profile, written: Written) -> String {
    let calls = plural(profile.calls(), "call");
    if profile.sampling().is_some() {
        return format!("{calls}, sampled; {} of them spans", grouped(profile.health.counts.spans));
    }
    match written.resolution_nanos {
        0 => format!("{calls}, each drawn as a span"),
        nanos => {
            let (spans, nanos) =
                (plural(written.spans as u64, "span"), Unit::of(&profile.header).text(nanos));
            format!("{calls}, neighbours within {nanos} drawn as one: {spans}")
        }
    }
}

fn open(page: &Path) {
    // Browsers need an absolute path.
    let page = fs::canonicalize(page).unwrap_or_else(|_| page.to_owned());
    if let Err(error) = opener::open(&page) {
        output::warn(format_args!(
            "no browser could be opened ({error}); open the page yourself, or give --no-open"
        ));
    }
}
