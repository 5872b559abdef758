//! Draws graphs: turns Graphviz's language into SVG.

mod graphviz;

use anyhow::{Context, bail};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Which Graphviz lays a graph out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// The `dot` of this machine if it has one, else the built-in Graphviz.
    #[default]
    Auto,
    /// The `dot` of this machine.
    Dot,
    /// Graphviz 16 as a WebAssembly module, which gives the same picture everywhere.
    Wasm,
}

/// Lays a graph out and draws it as SVG, for light and for dark grounds.
pub fn svg(dot: &str, layout: Layout) -> anyhow::Result<String> {
    let installed = match layout {
        Layout::Wasm => None,
        _ => installed_dot(),
    };
    let svg = match (installed, layout) {
        (Some(program), _) => run_dot(&program, dot)?,
        (None, Layout::Dot) => {
            bail!("there is no `dot` on this machine's PATH; install Graphviz, or use --layout wasm")
        }
        (None, _) => graphviz::svg(dot).context("Graphviz failed")?,
    };
    Ok(styled(&svg))
}

fn installed_dot() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("dot{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|program| program.is_file())
}

fn run_dot(program: &PathBuf, dot: &str) -> anyhow::Result<String> {
    let context = || format!("failed to run `{}`", program.display());
    let mut command = Command::new(program);
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(context)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // `dot` reads everything before it writes anything but warnings.
        let fed = scope.spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(dot.as_bytes())));
        let output = child.wait_with_output();
        // If `dot` stopped reading, its own error says why.
        let _ = fed.join();
        output
    })
    .with_context(context)?;
    if !output.status.success() {
        bail!("`{}` failed: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote no UTF-8", program.display()))
}

/// Lighter colors for text outside of boxes, on a dark ground.
const STYLE: &str = "<style>
text { font-family: Helvetica, Arial, 'Liberation Sans', sans-serif }
@media (prefers-color-scheme: dark) {
  svg > g > text, .call text { fill: #a8b0bd }
}
</style>
";

/// Adds the style, and drops all text before the `<svg>`.
fn styled(svg: &str) -> String {
    let start = svg.find("<svg").unwrap_or(0);
    let svg = svg.get(start..).unwrap_or(svg);
    match svg.find(">\n") {
        Some(end) => {
            let (head, rest) = svg.split_at(end + 2);
            format!("{head}{STYLE}{rest}")
        }
        None => svg.to_owned(),
    }
}
