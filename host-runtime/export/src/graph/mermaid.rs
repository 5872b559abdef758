//! Mermaid's language, which forges and editors draw inside of Markdown.

use crate::graph::picture::{Edge, Picture, Vertex};
use std::io::{self, Write};

/// Writes a picture as a flowchart.
pub fn mermaid(picture: &Picture, mut out: impl Write) -> io::Result<()> {
    for line in &picture.title {
        // Of three in a row the second is in both pairs.
        writeln!(out, "%% {}", line.replace("%%", "% %").replace("%%", "% %"))?;
    }
    writeln!(out, "flowchart TD")?;
    for (n, vertex) in picture.vertices.iter().enumerate() {
        let Vertex { name, lines, fill, is_rest, .. } = vertex;
        let label: Vec<String> = name.iter().chain(lines).map(|line| escaped(line)).collect();
        writeln!(out, "  n{n}[\"{}\"]", label.join("<br/>"))?;
        let dashed = if *is_rest { ",stroke-dasharray:4" } else { "" };
        writeln!(out, "  style n{n} fill:{fill},color:#16181d,stroke:#7a828f{dashed}")?;
    }
    for (n, edge) in picture.edges.iter().enumerate() {
        let Edge { from, to, lines, weight, color } = edge;
        let label: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
        match label.is_empty() {
            true => writeln!(out, "  n{from} --> n{to}")?,
            false => writeln!(out, "  n{from} -->|\"{}\"| n{to}", label.join("<br/>"))?,
        }
        let width = 1.0 + 3.0 * weight.clamp(0.0, 1.0);
        writeln!(out, "  linkStyle {n} stroke:{color},stroke-width:{width:.1}px")?;
    }
    out.flush()
}

/// Text inside quotes: the language has HTML's entities, with `#` for `&`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // `%%{` begins a directive anywhere, also inside quotes.
            '%' if escaped.ends_with('%') => escaped.push_str("#37;"),
            '"' => escaped.push_str("#quot;"),
            '#' => escaped.push_str("#35;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '&' => escaped.push_str("#amp;"),
            // Markdown and line ends mean nothing in a name.
            '`' | '*' | '_' | '\\' | '\n' => escaped.push_str(&format!("#{};", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("%%{init: {}}%%% 5 %"), "%#37;{init: {}}%#37;% 5 %");
        let title = vec!["%%{init: {}}%%: 2.3 %".to_owned()];
        let mut out = Vec::new();
        mermaid(&Picture { title, ..Picture::default() }, &mut out).expect("to memory");
        assert_eq!(String::from_utf8_lossy(&out), "%% % %{init: {}}% %: 2.3 %\nflowchart TD\n");
    }
}
