//! Functions in groups: by module, by namespace, or by any other name.

use crate::symbols::{HOST, OTHER, Symbols, is_outside};
use crate::tree::flat::NodeTimes;
use crate::tree::nodes::CallTree;
use crate::tree::unplaced::Unplaced;
use kperf_abi::FuncId;
use kperf_trace::{Header, ProbeCost};
use rustc_hash::FxHashMap;

/// A group of functions. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// How many of them were called.
    pub functions: u64,
    /// Whether the calls of all of them were only counted: then their times are unknown.
    pub is_counted: bool,
    /// How often they were called.
    pub calls: u64,
    /// How often a function outside the group called one of them.
    pub entries: u64,
    /// How long at least one of them was open.
    pub total_nanos: f64,
    /// How long any of them was running itself.
    pub self_nanos: f64,
    /// Their part of all self time, 0 to 1.
    pub share: f64,
}

#[derive(Default)]
struct Sums {
    functions: u64,
    counted: u64,
    calls: u64,
    entries: u64,
    total: f64,
    self_time: f64,
    open: u32,
}

impl Group {
    /// Sums up a tree by what `name_of` says of each function; ordered by self time, the longest first. `compensate` as in
    /// [`FlatProfile::new`](crate::FlatProfile::new).
    pub fn all(
        tree: &CallTree,
        symbols: &Symbols,
        header: &Header,
        compensate: Option<&ProbeCost>,
        mut name_of: impl FnMut(FuncId) -> String,
    ) -> Vec<Group> {
        let nodes = NodeTimes::new(tree, symbols, header, compensate);
        let mut names: Vec<String> = Vec::new();
        let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
        let mut by_func: FxHashMap<FuncId, usize> = FxHashMap::default();
        let mut sums: Vec<Sums> = Vec::new();
        // The probe cost of such calls isn't known, so with compensation they stay in OTHER.
        let unplaced = if compensate.is_none() { Some(tree.unplaced()) } else { None };
        let placed = tree.iter().map(|(_, node)| node.func);
        let others = unplaced.iter().flat_map(|unplaced| unplaced.iter()).map(|(func, _, _)| func);
        for func in placed.chain(others).filter(|&func| !is_outside(func)) {
            by_func.entry(func).or_insert_with(|| {
                let name = name_of(func);
                let group = *by_name.entry(name.clone()).or_insert_with(|| {
                    names.push(name);
                    sums.push(Sums::default());
                    sums.len() - 1
                });
                sums[group].functions += 1;
                sums[group].counted += u64::from(symbols.is_counted(func));
                group
            });
        }
        tree.walk(|id, entered| {
            let Some(node) = tree.get(id) else { return };
            let Some(&group) = by_func.get(&node.func) else { return };
            let Some(sum) = sums.get_mut(group) else { return };
            if !entered {
                sum.open -= 1;
                return;
            }
            let (self_time, total, _) = nodes.of(id);
            let caller = tree.get(node.parent).map_or(HOST, |parent| parent.func);
            let from_outside = node.parent == CallTree::ROOT || by_func.get(&caller) != Some(&group);
            sum.calls += node.calls;
            sum.entries += if from_outside { node.calls } else { 0 };
            sum.self_time += self_time;
            if sum.open == 0 {
                sum.total += total;
            }
            sum.open += 1;
        });
        if let Some(unplaced) = unplaced {
            add_unplaced(tree, unplaced, &nodes, &by_func, &mut sums);
        }
        let whole: f64 = sums.iter().map(|sum| sum.self_time.max(0.0)).sum();
        let group = |(name, sum): (String, Sums)| Group {
            name,
            functions: sum.functions,
            is_counted: sum.counted == sum.functions,
            calls: sum.calls,
            entries: sum.entries,
            total_nanos: sum.total.max(sum.self_time).max(0.0),
            self_nanos: sum.self_time.max(0.0),
            share: if whole > 0.0 { sum.self_time.max(0.0) / whole } else { 0.0 },
        };
        let mut groups: Vec<Group> =
            names.into_iter().zip(sums).filter(|(_, sum)| sum.functions > 0).map(group).collect();
        groups.sort_by(|a, b| b.self_nanos.total_cmp(&a.self_nanos).then_with(|| a.name.cmp(&b.name)));
        groups
    }
}

/// Adds the calls in nodes of [`OTHER`] to their functions' groups. How long functions of one group were open together is
/// unknown there: the total of a group of several functions has only the tree's other paths.
fn add_unplaced(
    tree: &CallTree,
    unplaced: &Unplaced,
    nodes: &NodeTimes,
    by_func: &FxHashMap<FuncId, usize>,
    sums: &mut [Sums],
) {
    let in_nodes: u64 = tree.iter().map(|(_, node)| if node.func == OTHER { node.calls } else { 0 }).sum();
    let (mut calls, mut self_time) = (0, 0.0);
    for (func, caller, part) in unplaced.iter() {
        let part_self = nodes.nanos(part.self_ticks);
        self_time += part_self;
        let Some(&group) = by_func.get(&func) else { continue };
        let Some(sum) = sums.get_mut(group) else { continue };
        calls += part.calls;
        sum.calls += part.calls;
        sum.self_time += part_self;
        sum.entries += if by_func.get(&caller) == Some(&group) { 0 } else { part.calls };
        sum.total += if sum.functions == 1 { nodes.nanos(part.total_ticks) } else { 0.0 };
    }
    let Some(other) = by_func.get(&OTHER).and_then(|&group| sums.get_mut(group)) else { return };
    other.calls = other.calls.saturating_sub(calls);
    other.self_time -= self_time;
    other.functions -= u64::from(calls >= in_nodes);
}

impl Symbols {
    /// The name of a function's module; `None` if no table has the function.
    pub fn module(&self, func: FuncId) -> Option<&str> {
        self.tables().iter().find(|table| table.get(func).is_some()).map(|table| table.module.name.as_str())
    }
}

/// The namespace at the beginning of a function's name, as far as the languages' names can be distinguished:
/// `std::io` of `std::io::copy<T>(a::B)`, `std::fs::File` of `<std::fs::File as std::io::Read>::read`, `main` of
/// `main.play`, `kotlin.Array` of `kotlin.Array.get`, `~lib/rt` of `~lib/rt/new`. Empty where there is none.
pub fn namespace(name: &str) -> &str {
    // A function of an interface as WIT has it: `wasi:io/streams@0.2.12#[method]output-stream.flush`.
    if let Some((interface, _)) = name.split_once('#')
        && interface.split_once(':').is_some_and(|(package, rest)| !package.is_empty() && rest.contains('/'))
        && !interface.contains(['(', '<', ' '])
    {
        return interface;
    }
    // What an `impl` is for.
    if let Some(implementor) = name.strip_prefix('<') {
        let start = implementor.trim_start_matches(['&', '*']);
        let start = ["mut ", "dyn ", "const "].iter().fold(start, |text, word| text.trim_start_matches(word));
        let end = start.find(['<', ' ', '>', '(', '[']).unwrap_or(start.len());
        return start.get(..end).unwrap_or(start).trim_end_matches("::");
    }
    let mut end = name.len();
    let mut depth = 0usize;
    let mut start = 0;
    // The last separator outside of brackets and before the parameters. A return type ends with a space.
    let mut last = None;
    for (at, c) in name.char_indices() {
        match c {
            '(' if depth == 0 && at > start && !name[..at].ends_with('.') => {
                end = at;
                break;
            }
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => (start, last) = (at + 1, None),
            '.' | '/' if depth == 0 => last = Some(at),
            ':' if depth == 0 && name[at..].starts_with("::") && !name[at..].starts_with("::<") => {
                last = Some(at)
            }
            _ => {}
        }
    }
    let end = last.filter(|&last| last > start).map_or(start, |last| last.min(end));
    name.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_languages_have_namespaces() {
        for (name, wanted) in [
            ("life::step", "life"),
            ("main", ""),
            ("std::io::copy<std::fs::File>", "std::io"),
            ("core::ptr::drop_in_place::<alloc::string::String>", "core::ptr"),
            ("<std::fs::File as std::io::Read>::read", "std::fs::File"),
            ("<&mut alloc::vec::Vec<u8> as core::fmt::Write>::write_str", "alloc::vec::Vec"),
            ("<core::fmt::Formatter>::pad_integral", "core::fmt::Formatter"),
            (
                "std::__2::vector<int, std::allocator<int> >::push_back(int const&)",
                "std::__2::vector<int, std::allocator<int> >",
            ),
            ("void app::run<int>(std::string)", "app"),
            ("main.play", "main"),
            ("runtime.(*mheap).alloc", "runtime.(*mheap)"),
            ("kotlin.BooleanArray.get", "kotlin.BooleanArray"),
            ("~lib/rt/itcms/__new", "~lib/rt/itcms"),
            ("wasi_snapshot_preview1.fd_write", "wasi_snapshot_preview1"),
            ("wasi:cli/environment@0.2.12#get-environment", "wasi:cli/environment@0.2.12"),
            ("wasi:io/streams@0.2.12#[method]output-stream.flush", "wasi:io/streams@0.2.12"),
            ("[lost]", ""),
            ("func[12]", ""),
            ("", ""),
            ("::", ""),
        ] {
            assert_eq!(namespace(name), wanted, "{name}");
        }
    }
}
