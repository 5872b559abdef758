//! Limits of what is kept of a trace: everything over them is in the sums.

use kperf_abi::FuncId;
use kperf_profile::{
    CallGraph, CallTree, CallTreeBuilder, FlatProfile, Group, MAX_OPEN_FRAMES, MAX_PATHS, Metric, Node,
    OTHER, Profile, ProfileDiff, Sample, Symbols,
};
use kperf_trace::block::{BlockHeader, CAPACITY};
use kperf_trace::{
    Batch, Event, Header, LaneId, Reason, Summary, TimedEvent, TraceReader, TraceWriter, word,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Numbers that look like chance.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Calls that go anywhere, on two lanes, as batches: lane, depth at its start, events.
fn calls(seed: u64, batches: usize) -> Vec<(u32, u32, Vec<TimedEvent>)> {
    let mut random = Random(seed);
    let (mut ticks, mut depths) = (0, [0u32; 2]);
    (0..batches)
        .map(|_| {
            let lane = random.below(2) as usize;
            let before = depths[lane];
            let events = (0..random.below(40))
                .map(|_| {
                    ticks += random.below(4);
                    let depth = &mut depths[lane];
                    let event = match random.below(16) {
                        0..8 => {
                            *depth += 1;
                            Event::Enter(FuncId(random.below(12) as u32))
                        }
                        8..15 if *depth > 0 => {
                            *depth -= 1;
                            Event::Leave
                        }
                        15 if *depth > 2 => {
                            *depth -= 1 + random.below(u64::from(*depth - 1)) as u32;
                            Event::Unwind { depth: *depth, reason: Reason::Caught }
                        }
                        _ => Event::Mark(1),
                    };
                    TimedEvent { ticks, event }
                })
                .collect();
            (lane as u32, before, events)
        })
        .collect()
}

fn tree(mut builder: CallTreeBuilder, batches: &[(u32, u32, Vec<TimedEvent>)]) -> CallTree {
    for (recorder, depth, events) in batches {
        let lane = LaneId { recorder: *recorder, stack: 0 };
        let Some(first) = events.first() else { continue };
        let start_ticks = first.ticks;
        builder.push(&Batch { lane, depth: *depth, start_ticks, elsewhere: 0, events });
    }
    assert!(builder.problems().is_empty(), "{:?}", builder.problems());
    builder.finish(0)
}

/// Calls, self time, and how many calls did not end by a leave, of some nodes together.
fn sums<'a>(nodes: impl Iterator<Item = &'a Node>) -> (u64, u64, u32) {
    nodes.fold((0, 0, 0), |(calls, ticks, cut), node| {
        (calls + node.calls, ticks + node.self_ticks, cut + node.unwound + node.unfinished)
    })
}

/// Each node's total is its own time and its children's totals.
fn check_totals(tree: &CallTree) {
    let mut below = vec![0; tree.nodes().len()];
    for (_, node) in tree.iter() {
        below[node.parent.0 as usize] += node.total_ticks;
    }
    for (id, node) in tree.iter() {
        assert_eq!(node.total_ticks, node.self_ticks + below[id.0 as usize], "{id:?} {node:?}");
    }
}

#[test]
fn beyond_the_limits_nothing_is_lost() {
    for seed in 0..40 {
        let batches = calls(seed, 60);
        let whole = tree(CallTreeBuilder::new(), &batches);
        check_totals(&whole);
        assert!(whole.iter().all(|(_, node)| node.func != OTHER));
        for (paths, frames) in
            [(1, 1000), (2, 1000), (20, 1000), (1_000_000, 0), (1_000_000, 5), (20, 5), (7, 1)]
        {
            let limited = tree(CallTreeBuilder::with_limits(paths, frames), &batches);
            check_totals(&limited);
            let what = format!("seed {seed}, {paths} paths, {frames} frames");
            assert_eq!(limited.total_ticks(), whole.total_ticks(), "{what}");
            let (calls, ticks, cut) = sums(limited.nodes().iter());
            let (all_calls, all_ticks, all_cut) = sums(whole.nodes().iter());
            assert_eq!((calls, ticks), (all_calls, all_ticks), "{what}");
            assert!(cut == all_cut || frames < 1000 && cut <= all_cut, "{what}");
            let others = limited.iter().filter(|(_, node)| node.func == OTHER).count();
            assert!(limited.nodes().len() - others <= paths.max(1), "{what}");
            assert!(others > 0, "{what}");
        }
    }
}

#[test]
fn functions_have_all_their_calls_whatever_paths_there_is_room_for() {
    let header = Header::default();
    let flat = |tree: &CallTree| FlatProfile::new(tree, &Symbols::default(), &header, None);
    let arcs = |tree: &CallTree| {
        let mut arcs = CallGraph::new(tree, &Symbols::default(), &header, None).arcs;
        arcs.sort_by_key(|arc| (arc.caller, arc.callee));
        arcs
    };
    let groups = |tree: &CallTree| {
        let mut groups = Group::all(tree, &Symbols::default(), &header, None, |func| func.0.to_string());
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        groups
    };
    for seed in 0..40 {
        let batches = calls(seed, 60);
        let whole = flat(&tree(CallTreeBuilder::new(), &batches));
        let tree_of = |paths| tree(CallTreeBuilder::with_limits(paths, 1000), &batches);
        for paths in [1, 2, 7, 20] {
            let limited = flat(&tree(CallTreeBuilder::with_limits(paths, 1000), &batches));
            assert_eq!(limited, whole, "seed {seed}, {paths} paths");
            assert_eq!(groups(&tree_of(paths)), groups(&tree_of(MAX_PATHS)), "seed {seed}, {paths} paths");
            assert_eq!(arcs(&tree_of(paths)), arcs(&tree_of(MAX_PATHS)), "seed {seed}, {paths} paths");
        }
        // Of frames that aren't kept nobody knows the function.
        let limited = flat(&tree(CallTreeBuilder::with_limits(20, 5), &batches));
        assert_eq!((limited.calls, limited.self_nanos), (whole.calls, whole.self_nanos), "seed {seed}");
    }
}

#[test]
fn the_node_of_others_is_its_callers_and_has_all_that_they_call() {
    let event = |ticks, event| TimedEvent { ticks, event };
    let enter = |ticks, id| event(ticks, Event::Enter(FuncId(id)));
    let leave = |ticks| event(ticks, Event::Leave);
    // main { a { } b { c { } } b { } }: room for main and a.
    let events = [
        enter(0, 1),
        enter(1, 2),
        leave(2),
        enter(3, 3),
        enter(4, 4),
        leave(6),
        leave(9),
        enter(10, 3),
        leave(11),
        leave(12),
    ];
    let tree = tree(CallTreeBuilder::with_limits(3, 100), &[(0, 0, events.to_vec())]);
    let rows: Vec<_> = tree
        .iter()
        .map(|(_, node)| (node.parent.0, node.func, node.calls, node.total_ticks, node.self_ticks))
        .collect();
    let expected = [(0, FuncId(1), 1, 12, 4), (1, FuncId(2), 1, 1, 1), (1, OTHER, 3, 7, 7)];
    assert_eq!(rows, expected);
}

#[test]
fn a_frame_of_others_stands_for_what_is_open_above_the_limit() {
    let event = |ticks, event| TimedEvent { ticks, event };
    let mut events: Vec<_> = (0..6).map(|n| event(n, Event::Enter(FuncId(1)))).collect();
    events.extend((6..9).map(|n| event(n, Event::Leave)));
    events.push(event(9, Event::Enter(FuncId(1))));
    events.push(event(10, Event::Unwind { depth: 1, reason: Reason::Caught }));
    events.push(event(12, Event::Leave));
    let tree = tree(CallTreeBuilder::with_limits(100, 2), &[(0, 0, events)]);
    let rows: Vec<_> = tree
        .iter()
        .map(|(_, node)| (node.parent.0, node.func, node.calls, node.total_ticks, node.self_ticks))
        .collect();
    // Two frames are kept; the four calls above them took from 2 to 10, and the last of them was made at 9.
    assert_eq!(rows, [(0, FuncId(1), 1, 12, 3), (1, FuncId(1), 1, 9, 1), (2, OTHER, 5, 8, 8)]);
}

/// A trace of blocks that have as many words as a block may have, each made by `word` from its number.
fn bomb(blocks: u32, word: impl Fn(u32) -> u32, depth: impl Fn(u32) -> u32) -> Vec<u8> {
    const WORDS: u32 = 1 << 20;
    assert!(WORDS as usize > CAPACITY / 4);
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).expect("a trace");
    for n in 0..blocks {
        let header = BlockHeader { depth: depth(n * (WORDS - 4)), ..BlockHeader::default() };
        let mut block = header.to_bytes().to_vec();
        block.extend((0..WORDS - 4).flat_map(|at| word(n * (WORDS - 4) + at).to_le_bytes()));
        writer.block(0, &block).expect("a block");
    }
    writer.finish(&Summary::default()).expect("a trace")
}

/// Reads a trace; answers the profile and how many megabytes that took.
fn measured(file: &[u8]) -> (Profile, f32) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage_as_mb();
    let profile = Profile::read(TraceReader::new(file).expect("a trace"), |_| ()).expect("a profile");
    (profile, MEMORY.peak_usage_as_mb() - before)
}

/// One test: memory is the whole process's.
#[test]
fn no_trace_takes_a_gigabyte() {
    // A hundred million open calls in some kilobytes.
    let file = bomb(100, |_| 1, |at| at);
    assert!(file.len() < 50_000, "{}", file.len());
    let (profile, megabytes) = measured(&file);
    let calls = 100 * ((1 << 20) - 4);
    assert_eq!((profile.calls(), profile.health.counts.cut_off), (calls, calls));
    assert_eq!(profile.health.over_limit.frames, calls - MAX_OPEN_FRAMES as u64);
    assert_eq!(profile.health.over_limit.calls(), calls - MAX_PATHS as u64 + 1);
    assert!(megabytes < 400.0, "{megabytes} MB");
    assert_eq!(
        profile.health.warnings(),
        [
            "786433 calls are in [other] where calls are shown by their paths: a call tree has at most 262144; a filter of \
             functions or depth makes it smaller",
            "103808624 calls are in [other]: at most 1048576 open calls have frames of their own",
        ]
    );

    // A path for each call: two functions that call each other and themselves, to a depth of 24.
    let deep = |at: u32| {
        let (round, place) = (at / 48, at % 48);
        if place < 24 { 1 + (round >> place & 1) } else { word::LEAVE }
    };
    let file = bomb(24, deep, |at| if at % 48 < 24 { at % 48 } else { 48 - at % 48 });
    let (profile, megabytes) = measured(&file);
    assert!(profile.tree.nodes().len() <= 2 * MAX_PATHS, "{}", profile.tree.nodes().len());
    assert_eq!(sums(profile.tree.nodes().iter()).0, 24 * ((1 << 20) - 4) / 2);
    assert!(profile.health.problems.is_empty(), "{:?}", profile.health.problems);
    assert!(profile.health.over_limit.paths > 1_000_000, "{:?}", profile.health.over_limit);
    assert!(megabytes < 400.0, "{megabytes} MB");

    // Its two functions have all of its calls, in comparisons too.
    let sample = Sample::by_function(&profile, None, |func| func.0.to_string());
    let diff = ProfileDiff::new(std::slice::from_ref(&sample), std::slice::from_ref(&sample), Metric::Calls);
    let functions: Vec<(&str, f64)> =
        diff.rows.iter().map(|row| (row.name.as_str(), row.change(Metric::Calls).before)).collect();
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!(functions.len(), 2, "{functions:?}");
    for row in &flat.rows {
        assert!(functions.contains(&(row.func.0.to_string().as_str(), row.calls as f64)), "{row:?}");
    }
}
