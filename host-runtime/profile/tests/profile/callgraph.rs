//! The call graph, and what a filter leaves of a trace.

use crate::support::{completed, reader, simple, trace, trace_with};
use kperf_abi::block::BlockHeader;
use kperf_profile::{CallFilter, CallGraph, FlatProfile, LaneChoice, Profile, Range};
use kperf_trace::{Header, ProbeCost};

fn profile(file: &[u8], filter: &CallFilter<'_>) -> Profile {
    Profile::read_filtered(reader(file), filter, |_| ()).unwrap()
}

fn graph(file: &[u8]) -> Vec<String> {
    let profile = profile(file, &CallFilter::default());
    let graph = CallGraph::new(&profile.tree, &profile.symbols, &profile.header, None);
    let name = |func| profile.symbols.label(func);
    let arc = |arc: &kperf_profile::Arc| {
        let (caller, callee) = (name(arc.caller), name(arc.callee));
        format!(
            "{caller} -> {callee}: {} calls, total {}, self {}",
            arc.calls, arc.total_nanos, arc.self_nanos
        )
    };
    graph.arcs.iter().map(arc).collect()
}

fn tree(file: &[u8], filter: &CallFilter<'_>) -> String {
    let profile = profile(file, filter);
    profile.tree.display(&profile.symbols).to_string()
}

#[test]
fn arcs_are_who_calls_whom() {
    let file = simple("main{ 1 a{ 2 b{ 10 } } 1 b{ 5 } b{ 7 } 1 }");
    assert_eq!(
        graph(&file),
        [
            "main -> a: 1 calls, total 12, self 2",
            "main -> b: 2 calls, total 12, self 12",
            "a -> b: 1 calls, total 10, self 10",
            "[host] -> main: 1 calls, total 27, self 3",
        ]
    );
}

#[test]
fn recursion_counts_once_in_an_arc() {
    let file = simple("f{ 1 f{ 2 f{ 4 } 8 } 16 } g{ 1 f{ 1 g{ 1 f{ 1 } 1 } 1 } 1 }");
    assert_eq!(
        graph(&file),
        [
            "f -> f: 2 calls, total 14, self 14",
            "f -> g: 1 calls, total 3, self 2",
            "g -> f: 2 calls, total 5, self 3",
            "[host] -> f: 1 calls, total 31, self 17",
            "[host] -> g: 1 calls, total 7, self 2",
        ]
    );
}

#[test]
fn what_is_left_out_is_as_if_it_had_no_probes() {
    let file = simple("main{ 1 a{ 2 b{ 10 c{ 3 } } 4 } 1 }");
    let filter = CallFilter {
        keep: &|symbols, func| !["a", "c"].contains(&&*symbols.name(func)),
        ..CallFilter::default()
    };
    assert_eq!(tree(&file, &filter), "main: 1 call, total 21, self 8\n  b: 1 call, total 13, self 13\n");
    let profile = profile(&file, &filter);
    assert_eq!((profile.calls(), profile.hidden_calls), (2, 2));
    let short = CallFilter { min_nanos: 13, ..CallFilter::default() };
    assert_eq!(
        tree(&file, &short),
        "main: 1 call, total 21, self 2\n  a: 1 call, total 19, self 6\n    b: 1 call, total 13, self 13\n"
    );
    let outer = CallFilter { depth: Some(1), ..CallFilter::default() };
    assert_eq!(tree(&file, &outer), "main: 1 call, total 21, self 21\n");
}

#[test]
fn the_probes_of_what_is_left_out_still_cost() {
    let file = simple("main{ 10 a{ 20 b{ 10 } } 10 a{ 20 } 10 }");
    let cost = ProbeCost { inside_nanos: 1.0, outside_nanos: 2.0 };
    let own = |filter: &CallFilter<'_>| {
        let profile = profile(&file, filter);
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, Some(&cost));
        flat.rows.iter().map(|row| row.self_nanos).sum::<f64>()
    };
    // Four calls, of which the host's own part isn't in the sum.
    assert_eq!(own(&CallFilter::default()), 80.0 - 4.0 * 3.0 + 2.0);
    assert_eq!(own(&CallFilter { depth: Some(1), ..CallFilter::default() }), 80.0 - 4.0 * 3.0 + 2.0);
    // But not those of calls outside of the range: the second `a`, or the first and `b`.
    let range = |start_nanos, end_nanos| Range { start_nanos, end_nanos };
    assert_eq!(own(&CallFilter { range: range(0, 45), ..CallFilter::default() }), 45.0 - 3.0 * 3.0 + 2.0);
    assert_eq!(own(&CallFilter { range: range(45, 80), ..CallFilter::default() }), 35.0 - 2.0 * 3.0 + 2.0);
}

#[test]
fn sums_have_only_the_part_in_the_range() {
    let file = simple("main{ 10 a{ 10 } 10 a{ 10 b{ 10 } 10 } 10 }");
    let range = |start_nanos, end_nanos| CallFilter {
        range: Range { start_nanos, end_nanos },
        ..CallFilter::default()
    };
    assert_eq!(
        tree(&file, &range(15, 45)),
        "main: 1 call, total 30, self 10\n  a: 2 calls, total 20, self 15, min 5, max 15\n    b: 1 call, total 5, self 5\n"
    );
    assert_eq!(tree(&file, &range(1000, 2000)), "");
    // In ticks of 4 ns, ends are rounded to the inside.
    let clock = kperf_trace::ClockInfo { ticks_per_second: 2.5e8, ..Default::default() };
    let header = Header { clock, ..Header::default() };
    let late = BlockHeader { start_ticks: 1 << 50, ..BlockHeader::default() };
    let file = trace_with(&header, &[(0, late, "main{ 100 }")], Some(&completed()));
    assert_eq!(tree(&file, &range(6, 23)), "main: 1 call, total 3, self 3\n");
}

#[test]
fn a_range_and_a_least_time_and_late_parents_fit_together() {
    // Before the range main and a are open; both are told of when b is.
    let file = simple("main{ 10 a{ 10 x{ 1 } 10 b{ 30 } } 10 }");
    let filter = CallFilter {
        min_nanos: 20,
        range: Range { start_nanos: 25, end_nanos: 100 },
        ..CallFilter::default()
    };
    assert_eq!(
        tree(&file, &filter),
        "main: 1 call, total 46, self 10\n  a: 1 call, total 36, self 6\n    b: 1 call, total 30, self 30\n"
    );
}

#[test]
fn lanes_can_be_chosen() {
    let start = BlockHeader::default();
    let file =
        trace(&[(0, start, "main{ 10 stack=3 a{ 5 } stack=0 }"), (7, start, "b{ 3 }")], Some(&completed()));
    let only = |lanes: &[&str]| CallFilter {
        lanes: lanes.iter().map(|lane| lane.parse::<LaneChoice>().unwrap()).collect(),
        ..CallFilter::default()
    };
    assert_eq!(tree(&file, &only(&["0.3"])), "a: 1 call, total 5, self 5\n");
    assert_eq!(tree(&file, &only(&["7", "0.3"])), "a: 1 call, total 5, self 5\nb: 1 call, total 3, self 3\n");
    assert_eq!(tree(&file, &only(&["0"])).lines().count(), 2);
    assert!("0.".parse::<LaneChoice>().is_err() && "x".parse::<LaneChoice>().is_err());
}
