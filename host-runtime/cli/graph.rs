//! `kperf-wasm graph`: draws who calls whom.

use crate::removed;
use crate::shared::flags::filters::CallArgs;
use crate::shared::input;
use crate::shared::output;
use crate::shared::picture;
use crate::shared::product::{self, Product};
use crate::shared::table::grouped;
use crate::shared::traces;
use crate::shared::traces::dataset::WhereArgs;
use anyhow::{Context, bail};
use kperf_export::graph::{self, Picture};
use kperf_profile::{FlatProfile, Profile, Unit, is_pause, times_text};
use kperf_rewriter::Pattern;
use kperf_trace::ProbeCost;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw who calls whom: functions with their times, arrows with the numbers of calls
///
/// A box has a function's name, its total and self time with their shares of the whole, and the number of its calls. An arrow
/// has the number of calls and their total. What takes more time is redder. A chain of functions that do little but make a single
/// call of the next is one box. Functions below --min-share are not drawn, or share a box `n others`. The title counts them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, `-` for stdin, or a dataset that `collect` has made.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write the picture. The ending chooses the format: `.svg`, `.dot`, `.mmd`.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The format, if not by the ending. Needed if the output is `-`, stdout.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Leave out functions that have less than this share of the whole time, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = percent)]
    min_share: f64,
    /// Draw at most N boxes, the ones with the most time.
    #[arg(long, alias = "max-nodes", value_name = "N", default_value_t = 40)]
    boxes: usize,
    /// Draw a box for each path of calls, as k-perf does, rather than for each function.
    #[arg(long)]
    tree: bool,
    /// Draw only these functions and what they call, as if they were the program.
    #[arg(long, value_name = "PATTERN")]
    root: Option<String>,
    /// Draw only the paths of calls through these functions: their callers and callees.
    #[arg(long, value_name = "PATTERN")]
    focus: Option<String>,
    /// Subtract the cost of the probes, which was measured when the recording ended.
    #[arg(long)]
    compensate: bool,
    #[command(flatten)]
    dataset: WhereArgs,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm graph app.kperf -o app.svg
  kperf-wasm graph app.kperf -o parse.svg --focus 'app::parse*' --min-share 1
  kperf-wasm graph app.kperf -o paths.svg --tree --depth 8
  kperf-wasm graph dataset/ -o fleet.svg --where \"version = 'b'\"
  kperf-wasm graph app.kperf -o - --format mermaid

Exit codes:
  0 fine (of a damaged trace what can be read is drawn), 1 failure, 2 wrong usage";

/// Formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A picture for browsers; it follows their light or dark style.
    Svg,
    /// Graphviz's language.
    Dot,
    /// Mermaid's language, for Markdown.
    Mermaid,
}

impl Opts {
    /// Draws. A pattern that matches no function is an error.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let format = self.format()?;
        product::keep(&self.trace, &self.output)?;
        if self.compensate {
            self.dataset.refuse(&self.trace, "--compensate")?;
        }
        let calls = self.calls.parse()?;
        let mut profile = match self.dataset.profile(&self.trace, &calls)? {
            Some(profile) => profile,
            None => traces::source(&self.trace).calls(&calls).profile()?,
        };
        self.choose(&mut profile)?;
        let compensate = traces::compensation(&profile, self.compensate)?;
        traces::report_health(&profile.health);
        if profile.tree.nodes().len() < 2 {
            bail!("there are no calls to draw");
        }
        let options = graph::Options {
            min_share: self.min_share / 100.0,
            max_vertices: self.boxes,
            tree: self.tree,
            title: self.title(&profile, compensate.as_ref()),
            compensate,
        };
        let picture = graph::picture(&profile, &options);
        let mut out = Product::create(&self.output, false)?;
        self.write(&picture, format, &mut out)?;
        let name = out.name();
        out.finish()?;
        let Picture { vertices, edges, .. } = &picture;
        output::status(format_args!("{name}: {} boxes, {} arrows", vertices.len(), edges.len()));
        Ok(ExitCode::SUCCESS)
    }

    fn format(&self) -> anyhow::Result<Format> {
        let ending = self.output.extension().and_then(|ending| ending.to_str());
        Ok(match (self.format, ending) {
            (Some(format), _) => format,
            (None, Some("svg")) => Format::Svg,
            (None, Some("dot" | "gv")) => Format::Dot,
            (None, Some("mmd" | "mermaid")) => Format::Mermaid,
            (None, ending) => match removed::instead("graph", ending.unwrap_or_default()) {
                Some(instead) => bail!(instead),
                None => bail!(
                    "the ending of `{}` is not a known format; use .svg, .dot or .mmd, or give --format",
                    self.output.display()
                ),
            },
        })
    }

    /// Keeps only the calls that --root and --focus ask for.
    fn choose(&self, profile: &mut Profile) -> anyhow::Result<()> {
        for (flag, text) in [("--root", &self.root), ("--focus", &self.focus)] {
            let Some(text) = text else { continue };
            let pattern =
                Pattern::parse(text).with_context(|| format!("failed to read the pattern of {flag}"))?;
            let symbols = &profile.symbols;
            let chosen = |func| pattern.matches_function(&symbols.name(func), || symbols.label(func));
            if !profile.tree.iter().any(|(_, node)| chosen(node.func)) {
                let names = symbols.iter().map(|symbol| symbol.display_name());
                let hint = pattern.hint(names).map(|hint| format!("; did you mean `{hint}`?"));
                bail!(
                    "{flag} `{text}` matches none of the functions that were called{}",
                    hint.unwrap_or_default()
                );
            }
            profile.tree = match flag {
                "--root" => profile.tree.rooted_at(chosen),
                _ => profile.tree.through(chosen),
            };
        }
        Ok(())
    }

    fn title(&self, profile: &Profile, compensate: Option<&ProbeCost>) -> Vec<String> {
        let of = match (&self.root, &self.focus) {
            (Some(root), _) => format!(", below {root}"),
            (None, Some(focus)) => format!(", through {focus}"),
            (None, None) => String::new(),
        };
        let of_functions = profile.tree.iter().filter(|(_, node)| !is_pause(node.func));
        let calls: u64 = of_functions.map(|(_, node)| node.calls).sum();
        // The boxes exclude them.
        let probes = if self.compensate { ", probes included" } else { "" };
        let unit = Unit::of(&profile.header);
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, compensate);
        let pauses = flat.whole_nanos() - flat.self_nanos;
        let apart = flat.apart_text(unit).map(|apart| format!(", {apart}")).unwrap_or_default();
        vec![
            format!(
                "{}{of}: {} calls in {}{probes}{apart}",
                self.dataset.title(&input::module_name(&self.trace)),
                grouped(calls),
                unit.text((profile.header.nanos(profile.tree.total_ticks()) as f64 - pauses).round() as u64)
            ),
            format!(
                "shares are of {} of self {}; {}",
                unit.text(flat.self_nanos.round() as u64),
                unit.noun(),
                times_text(profile)
            ),
        ]
    }

    fn write(&self, picture: &Picture, format: Format, out: &mut Product) -> anyhow::Result<()> {
        let context = || format!("failed to write `{}`", self.output.display());
        let drawn = || -> anyhow::Result<String> {
            let mut dot = Vec::new();
            graph::dot(picture, &mut dot)?;
            picture::svg(&String::from_utf8(dot)?)
        };
        match format {
            Format::Dot => graph::dot(picture, &mut *out).with_context(context)?,
            Format::Mermaid => graph::mermaid(picture, &mut *out).with_context(context)?,
            Format::Svg => out.write_all(drawn()?.as_bytes()).with_context(context)?,
        }
        Ok(())
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("give a number from 0 to 100".to_owned()),
    }
}
