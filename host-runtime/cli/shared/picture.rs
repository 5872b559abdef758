//! Draws graphs: turns Graphviz's language into SVG.

mod graphviz;

use anyhow::Context;

/// Lays a graph out and draws it as SVG, for light and for dark grounds. The picture is the same on every machine.
pub fn svg(dot: &str) -> anyhow::Result<String> {
    Ok(styled(&graphviz::svg(dot).context("Graphviz failed")?))
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
