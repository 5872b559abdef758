//! `kperf-wasm view`: a trace as a page for the browser.

use crate::filters::CallArgs;
use crate::input;
use crate::output::tell;
use crate::table::{grouped, plural};
use crate::traces;
use anyhow::{Context, bail};
use kperf_profile::export::view::{self, SPANS, Written};
use kperf_profile::{Profile, Timeline, nanos_text};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Look at a trace in the browser: timeline, flame graph, table and call graph in one page
///
/// The page is one HTML file that needs nothing else, no network either: it can be sent to others as it is. Counts, times
/// and callers in it are those of all calls. The timeline has levels of detail: where several short calls fall into one
/// pixel, they are drawn together, and zooming in takes them apart, down to single calls as far as --detail goes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write the page, or `-` for stdout [default: NAME.html in the current folder]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Only write it, don't open it in the browser.
    #[arg(long)]
    no_open: bool,
    /// How many spans the timeline's finest level may have; a million are some megabytes of the page.
    #[arg(long, value_name = "SPANS", default_value_t = SPANS)]
    detail: usize,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm view app.kperf
  kperf-wasm view app.kperf --no-open -o /tmp/app.html
  kperf-wasm view app.kperf --detail 10000000         every call of a long trace, in a large page

Exit codes:
  0 fine (a damaged trace is shown as far as it can be read), 1 failure, 2 wrong usage";

impl Opts {
    /// Writes the page and opens it. That no browser can be opened is only told: the page is there.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let title = input::module_name(&self.trace);
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from(format!("{title}.html")));
        let to_stdout = output == Path::new("-");
        if to_stdout && io::stdout().is_terminal() {
            bail!("the page is long and stdout is a terminal; name a file with -o FILE.html, or pipe it");
        }
        let (profile, timeline) =
            traces::profile_observed(&self.trace, &self.calls.parse()?, Timeline::new(self.detail))?;
        traces::tell_warnings(&profile.health);
        if to_stdout {
            let out = BufWriter::new(io::stdout().lock());
            view::write_html(&profile, timeline, &title, out).context("failed to write to stdout")?;
            return Ok(ExitCode::SUCCESS);
        }
        let written = File::create(&output)
            .and_then(|file| view::write_html(&profile, timeline, &title, BufWriter::new(file)))
            .with_context(|| format!("failed to write `{}`", output.display()))?;
        tell(format_args!("{}: {}", output.display(), describe(&profile, written)));
        if !self.no_open {
            open(&output);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(profile: &Profile, written: Written) -> String {
    let calls = plural(profile.calls(), "call");
    if profile.sampling().is_some() {
        return format!("{calls}, sampled; {} of them spans", grouped(profile.health.counts.spans));
    }
    match written.resolution_nanos {
        0 => format!("{calls}, each a span of its own"),
        nanos => {
            let (spans, nanos) = (plural(written.spans as u64, "span"), nanos_text(nanos));
            format!("{calls}, those that fit into {nanos} together as one: {spans}")
        }
    }
}

fn open(page: &Path) {
    // Browsers take paths from the root only.
    let page = fs::canonicalize(page).unwrap_or_else(|_| page.to_owned());
    if let Err(error) = opener::open(&page) {
        tell(format_args!(
            "warning: the page could not be opened ({error}); open it in a browser, or say --no-open"
        ));
    }
}
