//! Texts and colors of boxes and arrows.

use kperf_abi::FuncId;
use kperf_profile::{Accuracy, plural};

/// Color of boxes for functions that aren't drawn.
pub(super) const REST: &str = "#e4e7ec";

/// The figures in a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures<'a> {
    /// `None` for several functions.
    pub(super) func: Option<FuncId>,
    /// The share of all its calls, if these are the ones on one path.
    pub(super) func_share: Option<f64>,
    pub(super) calls: u64,
    /// Whether its times are unknown.
    pub(super) is_counted: bool,
    pub(super) total_nanos: f64,
    /// The part of the total without the recorder and waits.
    pub(super) running_nanos: f64,
    pub(super) self_nanos: f64,
    /// All self time: shares are of it.
    pub(super) whole_nanos: f64,
    pub(super) accuracy: &'a Accuracy,
}

impl Figures<'_> {
    pub(super) fn total_share(&self) -> f64 {
        share(self.running_nanos, self.whole_nanos)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let time = |nanos| self.accuracy.time_text(nanos);
        if self.is_counted {
            return vec![plural(self.calls, "call"), "counted only".to_owned()];
        }
        let total = Accuracy::percent_text(self.total_share(), None);
        let self_share = share(self.self_nanos, self.whole_nanos);
        let error = match (self.func, self.func_share) {
            (None, _) => self.accuracy.group_error(self_share, self.calls),
            (Some(func), None) => self.accuracy.share_error(func, self_share, self.calls),
            (Some(func), Some(whole)) => self.accuracy.path_error(func, (self_share, whole), self.calls),
        };
        vec![
            format!("total {} ({total})", time(self.total_nanos)),
            format!("self {} ({})", time(self.self_nanos), Accuracy::percent_text(self_share, error)),
            plural(self.calls, "call"),
        ]
    }
}

/// A part of a whole, 0 to 1.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// How hot a share is, 0 to 1: small shares differ more than large ones do.
#[allow(clippy::manual_clamp, reason = "the share of nothing is no number, which `max` makes 0")]
pub fn heat(share: f64) -> f64 {
    share.max(0.0).min(1.0).sqrt()
}

/// A box's color by its share of the time: from a cool grey over yellow to red. Dark text can be read on all of them.
pub fn heat_color(share: f64) -> String {
    blend(
        &[[0xe9, 0xee, 0xf4], [0xfd, 0xf0, 0xc2], [0xfd, 0xc8, 0x7a], [0xfa, 0x8b, 0x5c], [0xf0, 0x5b, 0x4f]],
        heat(share),
    )
}

/// An arrow's color by its share of the time: grey to red, to be seen on light and on dark grounds.
pub(super) fn arrow_color(share: f64) -> String {
    blend(&[[0x8b, 0x93, 0xa1], [0xb0, 0x7d, 0x62], [0xd9, 0x5f, 0x3b], [0xd8, 0x3a, 0x34]], heat(share))
}

/// A color on the way through some colors; `at` is 0 for the first, 1 for the last.
fn blend(colors: &[[u8; 3]], at: f64) -> String {
    let place = at.clamp(0.0, 1.0) * (colors.len() - 1) as f64;
    let (index, part) = (place.floor() as usize, place.fract());
    let from = colors.get(index).or(colors.last()).copied().unwrap_or_default();
    let to = colors.get(index + 1).copied().unwrap_or(from);
    let mix = |n: usize| (f64::from(from[n]) * (1.0 - part) + f64::from(to[n]) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// Longest line of a name, in characters.
const LINE: usize = 34;
/// Most lines of a name.
const LINES: usize = 3;

/// The most characters of a name in a tooltip. Graphviz takes minutes for one of 10 MB.
const WHOLE: usize = 2_000;

/// A name in a tooltip.
pub(super) fn whole(name: &str) -> String {
    shortened(name, WHOLE).into_iter().collect()
}

/// A name on one line.
pub(super) fn line(name: &str) -> String {
    shortened(name, LINE).into_iter().collect()
}

/// Of a name that is too long the middle is left out: both ends say more.
fn shortened(name: &str, max: usize) -> Vec<char> {
    let length = name.chars().count();
    if length <= max {
        return name.chars().collect();
    }
    let head = max / 3;
    let tail = max - head - 2;
    name.chars().take(head).chain("..".chars()).chain(name.chars().skip(length - tail)).collect()
}

/// A name on a few lines, broken where it has joints.
pub(super) fn wrapped(name: &str) -> Vec<String> {
    let text = shortened(name, LINE * LINES - 4);
    let mut lines = Vec::new();
    let mut rest = text.as_slice();
    while rest.len() > LINE {
        // The last joint that fits, but not so early that the line would be mostly empty.
        let joint = |at: &usize| {
            let pair = rest.get(at - 1..=*at);
            matches!(pair, Some([':', c]) if *c != ':')
                || matches!(pair, Some([',' | ' ' | '/' | '>' | '(', _] | [_, '<']))
        };
        let at = (LINE / 3..=LINE).rev().find(joint).unwrap_or(LINE);
        let (line, others) = rest.split_at(at);
        lines.push(line.iter().collect::<String>().trim_end().to_owned());
        rest = others;
    }
    lines.push(rest.iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_at_their_joints() {
        assert_eq!(wrapped("life::step"), ["life::step"]);
        assert_eq!(
            wrapped("<alloc::vec::Vec<T> as core::iter::traits::collect::Extend>::extend"),
            ["<alloc::vec::Vec<T> as core::", "iter::traits::collect::Extend>::", "extend"]
        );
        let long = format!("begin::{}::end", "x".repeat(500));
        let lines = wrapped(&long);
        assert!(
            lines.iter().all(|line| line.chars().count() <= LINE) && lines.len() <= LINES + 1,
            "{lines:?}"
        );
        assert!(lines[0].starts_with("begin::") && lines.last().is_some_and(|last| last.ends_with("::end")));
        assert_eq!(
            (whole("life::step"), whole(&"ü".repeat(10_000)).chars().count()),
            ("life::step".to_owned(), WHOLE)
        );
        assert_eq!(wrapped(&"ü".repeat(40)), ["ü".repeat(34), "ü".repeat(6)]);
    }

    #[test]
    fn colors_go_from_cool_to_hot() {
        assert_eq!([heat_color(0.0), heat_color(1.0)], ["#e9eef4", "#f05b4f"]);
        assert_eq!([heat_color(-3.0), heat_color(f64::NAN)], ["#e9eef4", "#e9eef4"]);
    }
}
