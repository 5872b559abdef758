//! Graphviz's language.

use crate::graph::picture::{Edge, Picture, Vertex};
use std::io::{self, Write};

/// The font that widths are computed for: Graphviz knows its metrics without having it.
const FONT: &str = "Arial";

/// Writes a picture in Graphviz's language. Boxes have the classes `function` or `rest`, arrows `call`, so that a style
/// can color them anew.
pub fn dot(picture: &Picture, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "digraph calls {{")?;
    writeln!(
        out,
        "  graph [rankdir=TB, bgcolor=\"transparent\", fontname=\"{FONT}\", fontsize=12, nodesep=0.35,"
    )?;
    writeln!(
        out,
        "    ranksep=0.55, labelloc=t, labeljust=l, fontcolor=\"#6b7280\", label={}]",
        text(&picture.title, "\\l")
    )?;
    writeln!(
        out,
        "  node [shape=box, style=\"rounded,filled\", fontname=\"{FONT}\", fontsize=11, fontcolor=\"#16181d\","
    )?;
    writeln!(out, "    color=\"#7a828f\", penwidth=0.8, margin=\"0.2,0.08\"]")?;
    writeln!(out, "  edge [fontname=\"{FONT}\", fontsize=10, fontcolor=\"#6b7280\", arrowsize=0.7]")?;
    for (n, vertex) in picture.vertices.iter().enumerate() {
        let Vertex { name, lines, tooltip, fill, is_rest } = vertex;
        let label: Vec<String> = name.iter().chain(lines).cloned().collect();
        let (label, tooltip) = (text(&label, "\\n"), text(&[tooltip.replace('\n', " | ")], ""));
        let (class, style) = match is_rest {
            true => ("rest", ", style=\"rounded,filled,dashed\""),
            false => ("function", ""),
        };
        writeln!(
            out,
            "  n{n} [class={class}, label={label}, tooltip={tooltip}, fillcolor=\"{fill}\"{style}]"
        )?;
    }
    for edge in &picture.edges {
        let Edge { from, to, lines, weight, color } = edge;
        // A gap to the arrow: readers may have a wider font than the one that widths are computed for.
        let lines: Vec<String> = lines.iter().map(|line| format!("\u{a0}\u{a0}{line}")).collect();
        let (label, width) = (text(&lines, "\\l"), 0.8 + 3.2 * weight.clamp(0.0, 1.0));
        // The callee with the most time is drawn straight below its caller.
        let straight = 1 + (weight.clamp(0.0, 1.0) * 20.0).round() as u32;
        write!(out, "  n{from} -> n{to} [class=call, label={label}, penwidth={width:.2}, color=\"{color}\"")?;
        writeln!(out, ", weight={straight}]")?;
    }
    writeln!(out, "}}")?;
    out.flush()
}

/// A string of the language: each line ends with `end`, which also says how it is aligned.
fn text(lines: &[String], end: &str) -> String {
    let mut text = String::from("\"");
    for (n, line) in lines.iter().enumerate() {
        if n > 0 && end == "\\n" {
            text.push_str(end);
        }
        for c in line.chars() {
            match c {
                '"' => text.push_str("\\\""),
                // A backslash begins an escape of a label's; `&` an entity of HTML.
                '\\' => text.push_str("\\\\"),
                '&' => text.push_str("&amp;"),
                c => text.push(c),
            }
        }
        if end == "\\l" {
            text.push_str(end);
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn strings_are_escaped() {
        let lines = ["a \"b\"".to_owned(), "operator&& \\n".to_owned()];
        assert_eq!(text(&lines, "\\n"), "\"a \\\"b\\\"\\noperator&amp;&amp; \\\\n\"");
        assert_eq!(text(&lines[..1], "\\l"), "\"a \\\"b\\\"\\l\"");
    }
}
