//! A picture of boxes and arrows.

use crate::graph::label;
use kperf_abi::FuncId;
use kperf_profile::{LOST, OTHER, Symbols, is_pause};
use kperf_trace::ProbeCost;

/// A picture of boxes and arrows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// The title, a line or more.
    pub title: Vec<String>,
    /// The boxes. Ordered such that the most important come first.
    pub vertices: Vec<Vertex>,
    /// The arrows.
    pub edges: Vec<Edge>,
}

/// A box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Its first lines: a function's name, short enough to be read.
    pub name: Vec<String>,
    /// The lines below it.
    pub lines: Vec<String>,
    /// Everything about it, where there is room: the whole name.
    pub tooltip: String,
    /// Its color, `#rrggbb`; light enough for dark text.
    pub fill: String,
    /// Whether it is the box of functions that aren't drawn.
    pub is_rest: bool,
}

impl Vertex {
    /// The name, however long: the first line of the tooltip.
    pub(super) fn whole_name(&self) -> &str {
        self.tooltip.lines().next().unwrap_or_default()
    }
}

/// An arrow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edge {
    /// Index of the vertex where it begins.
    pub from: usize,
    /// Index of the vertex where it ends.
    pub to: usize,
    /// Its label.
    pub lines: Vec<String>,
    /// How important it is, 0 to 1: its width.
    pub weight: f64,
    /// Its color, `#rrggbb`; to be seen on a light and on a dark ground.
    pub color: String,
}

/// How a profile is drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// Functions (or paths) with a smaller share of the whole time get no box of their own; 0 to 1. A box's callees among
    /// these are drawn together as `n others`, if their sum has at least this share.
    pub min_share: f64,
    /// The most boxes, `n others` included, at least 1; those with the least time are left out.
    pub max_vertices: usize,
    /// Whether each path of calls has a box of its own, rather than each function.
    pub tree: bool,
    /// The lines above the picture.
    pub title: Vec<String>,
    /// The probes' cost, if it is to be taken off.
    pub compensate: Option<ProbeCost>,
}

impl Default for Options {
    fn default() -> Options {
        Options { min_share: 0.005, max_vertices: 40, tree: false, title: Vec::new(), compensate: None }
    }
}

/// Whether a function is the recording's rather than the program's.
pub(super) fn is_lost(func: FuncId) -> bool {
    [LOST, OTHER].contains(&func) || is_pause(func)
}

/// A box's lines for one function.
pub(super) fn vertex(symbols: &Symbols, func: FuncId, figures: label::Figures<'_>) -> Vertex {
    let name = symbols.label(func);
    let lines = figures.lines();
    let tooltip = format!("{}\n{}", label::whole(&name), lines.join("\n"));
    let fill = if is_lost(func) { label::REST.to_owned() } else { label::heat_color(figures.total_share()) };
    Vertex { name: label::wrapped(&name), lines, tooltip, fill, is_rest: false }
}
