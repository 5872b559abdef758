//! Shows the profile of a run that has ended.

use super::summary::Summary;
use crate::shared::table::color::ColorArg;
use crate::shared::table::fit::Shown;
use crate::shared::{output, table, traces};
use std::io;
use std::path::Path;

/// How many functions the profile shows.
const TOP: usize = 20;

/// Shows the top of the trace's profile on stderr. `summary`: what was read while it was recorded.
pub fn show(trace: &Path, quiet: bool, summary: &Summary) {
    // The trace may be a pipe: another process reads it, and it can't be read twice.
    if quiet || !trace.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return;
    }
    match summary.finish().unwrap_or_else(|| traces::source(trace).profile()) {
        Ok(profile) => {
            traces::report_health(&profile.health);
            // A closed stderr loses the profile, not the trace.
            let shown = Shown::on_stderr(ColorArg::Auto.of(&io::stderr()));
            let _ = table::print_top(&profile, TOP, shown, io::stderr().lock());
            traces::show_hints(&profile, false);
            output::status(format_args!("# trace: {}", trace.display()));
        }
        // A profile that can't be shown doesn't change the exit code.
        Err(error) => output::warn(format_args!("{error:#}")),
    }
}
