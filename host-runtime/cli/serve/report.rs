//! Shows the profile of a page that was closed.

use crate::symbols::SymbolArgs;
use crate::table::fit::Shown;
use crate::{table, traces};
use anyhow::Context;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Prints the top of a trace's profile.
pub fn show(path: &Path, top: usize) -> anyhow::Result<()> {
    let profile = traces::profile(path, &SymbolArgs::default())?;
    traces::tell_warnings(&profile.health);
    let mut out = BufWriter::new(io::stdout().lock());
    let page = profile.header.command.first().map_or("a page", String::as_str);
    writeln!(out, "# page:  {}", kperf_profile::printable(page))
        .and_then(|()| table::print_top(&profile, top, Shown::on_stdout(false), &mut out))
        .and_then(|()| writeln!(out, "# trace: {}\n", path.display()))
        .and_then(|()| out.flush())
        .context("failed to write to stdout")
}
