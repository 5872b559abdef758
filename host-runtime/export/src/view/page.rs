//! Writes the HTML page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

const HTML: &str = include_str!("page/index.html");
const CSS: &str = include_str!("page/style.css");
/// Each comes after those that it imports.
const SCRIPTS: [(&str, &str); 25] = [
    ("dom.js", include_str!("page/dom.js")),
    ("format.js", include_str!("page/format.js")),
    ("accuracy.js", include_str!("page/accuracy.js")),
    ("data.js", include_str!("page/data.js")),
    ("state.js", include_str!("page/state.js")),
    ("colors.js", include_str!("page/colors.js")),
    ("viewport.js", include_str!("page/viewport.js")),
    ("input.js", include_str!("page/input.js")),
    ("chart.js", include_str!("page/chart.js")),
    ("overview.js", include_str!("page/overview.js")),
    ("memory.js", include_str!("page/memory.js")),
    ("timeline.js", include_str!("page/timeline.js")),
    ("trees.js", include_str!("page/trees.js")),
    ("flame.js", include_str!("page/flame.js")),
    ("table.js", include_str!("page/table.js")),
    ("layers.js", include_str!("page/layers.js")),
    ("graph.js", include_str!("page/graph.js")),
    ("figures.js", include_str!("page/figures.js")),
    ("walk.js", include_str!("page/walk.js")),
    ("slices.js", include_str!("page/slices.js")),
    ("details.js", include_str!("page/details.js")),
    ("selection.js", include_str!("page/selection.js")),
    ("save.js", include_str!("page/save.js")),
    ("address.js", include_str!("page/address.js")),
    ("main.js", include_str!("page/main.js")),
];

/// Where the page's data go.
pub(super) struct Sections<'a> {
    out: &'a mut dyn Write,
}

impl Sections<'_> {
    /// Adds a section. Its name has no characters that mean something in HTML.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes)?;
        let text = STANDARD.encode(packed.finish()?);
        writeln!(self.out, "<script type=\"text/plain\" data-section=\"{name}\">{text}</script>")
    }
}

/// Writes the page: `<!-- POLICY -->`, `<!-- TITLE -->`, `<!-- STYLE -->`, `<!-- DATA -->` and `<!-- SCRIPT -->` of `index.html`
/// are replaced.
pub(super) fn write(
    title: &str,
    out: &mut dyn Write,
    sections: impl FnOnce(&mut Sections<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut sections = Some(sections);
    let style = format!("\n{CSS}");
    let script: String =
        SCRIPTS.iter().map(|(name, text)| format!("\n// {name}\n{}", joined(text))).collect();
    let mut rest = HTML;
    while let Some((before, marker, after)) = next_marker(rest) {
        out.write_all(before.as_bytes())?;
        match marker {
            "POLICY" => write!(out, "{}", policy(&style, &script))?,
            "TITLE" => out.write_all(escaped(title).as_bytes())?,
            "STYLE" => write!(out, "<style>{style}</style>")?,
            "DATA" => {
                if let Some(sections) = sections.take() {
                    sections(&mut Sections { out })?;
                }
            }
            "SCRIPT" => write!(out, "<script type=\"module\">{script}</script>")?,
            other => write!(out, "<!-- {other} -->")?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The page's Content-Security-Policy. It allows the page's own style and script, by their hashes, and its own pictures.
/// So text from a trace can't run or fetch anything, even if the page has a mistake.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; \
         script-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; form-action 'none'\">",
        hash(style),
        hash(script)
    )
}

/// The text before the next comment, the comment, and the text after it.
fn next_marker(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("<!-- ")?;
    let (marker, after) = rest.split_once(" -->")?;
    Some((before, marker, after))
}

/// A script without its imports and exports: all scripts of the page are one module.
fn joined(script: &str) -> String {
    let lines = script.lines().filter(|line| !line.starts_with("import "));
    lines.map(|line| format!("{}\n", line.strip_prefix("export ").unwrap_or(line))).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_put_together() {
        let mut out = Vec::new();
        write("<life> & co", &mut out, |sections| sections.add("profile", b"{}")).expect("to memory");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("<title>&lt;life&gt; &amp; co</title>"));
        assert!(text.contains("<script type=\"text/plain\" data-section=\"profile\">q64FAA==</script>"));
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for word in ["<!-- ", "\nimport ", "\nexport ", "http://", "https://", " src="] {
            assert!(!text.contains(word), "{word}");
        }
        assert!(SCRIPTS.iter().all(|(_, script)| !script.contains("</script")));
    }
}
