//! `kperf-wasm export`: a trace in other tools' formats.

use crate::input;
use crate::output::tell;
use crate::traces::{self, Trace};
use anyhow::{Context, bail};
use kperf_profile::export::kperf;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace in another tool's format
///
/// `kperf`: k-perf's own text files, `trace_NAME_LANE.txt` with a line per enter (`>;id`) and leave
/// (`<;microseconds`), and `symbols_NAME_LANE.txt` with the names, one pair per lane in the folder OUTPUT. They load in
/// k-perf's graph script as they are; for a script that expects an id in each leave, there is --leave-ids.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Where to write: for `kperf` a folder, which is made if it isn't there.
    #[arg(short, long, value_name = "OUTPUT")]
    output: PathBuf,
    /// kperf: repeat the function's id in each leave (`<;id;microseconds`), as older versions of k-perf do.
    #[arg(long)]
    leave_ids: bool,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm export app.kperf --format kperf -o kperf/
  python graph-visualizer.py kperf/trace_app_0.txt

Exit codes:
  0 fine (a damaged trace is exported as far as it can be read), 1 failure, 2 wrong usage";

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// k-perf's text.
    Kperf,
}

impl Opts {
    /// Exports, and says on stderr what was written.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.format {
            Format::Kperf => self.kperf(),
        }
    }

    fn kperf(self) -> anyhow::Result<ExitCode> {
        let folder = &self.output;
        let Trace { reader, progress } = traces::open(&self.trace, false)?;
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
        let program = input::module_name(&self.trace);
        let create = |name: &str| {
            let path = folder.join(name);
            File::create(&path)
                .map(|file| BufWriter::with_capacity(1 << 16, file))
                .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))
        };
        let options = kperf::Options { leave_ids: self.leave_ids };
        let open = |lane| create(&kperf::trace_file_name(&program, lane));
        let exported = kperf::write_traces(reader, &options, open, |bytes| progress.set_position(bytes));
        progress.finish_and_clear();
        let exported = exported.context("failed to export the trace")?;
        if exported.lanes.is_empty() {
            bail!("the trace has no calls, so that there is nothing to export");
        }
        for &lane in &exported.lanes {
            let name = kperf::symbols_file_name(&kperf::trace_file_name(&program, lane));
            create(&name)
                .and_then(|out| kperf::write_symbols(&exported.symbols, out))
                .context("failed to write the symbols")?;
        }
        traces::tell_warnings(&exported.health);
        let files = exported.lanes.len() * 2;
        tell(format_args!("{}: {} calls in {files} files", folder.display(), exported.calls));
        Ok(ExitCode::SUCCESS)
    }
}
