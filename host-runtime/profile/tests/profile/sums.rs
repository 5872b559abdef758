//! Sums hold for any events.

use crate::support::Numbers;
use kperf_abi::FuncId;
use kperf_profile::{CallTree, CallTreeBuilder, FlatProfile, HOST, Symbols};
use kperf_trace::{Batch, Event, Header, LaneId, Reason, TimedEvent};
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

fn random_event(numbers: &mut Numbers) -> Event {
    match numbers.below(64) {
        0 => Event::Mark(1),
        1 => Event::Unwind { depth: numbers.below(6) as u32, reason: Reason::ALL[numbers.below(6) as usize] },
        2..=32 => Event::Enter(FuncId(numbers.below(12) as u32)),
        _ => Event::Leave,
    }
}

/// Feeds batches with every kind of nonsense in them, and answers how many enters there were.
fn feed(builder: &mut CallTreeBuilder, numbers: &mut Numbers) -> u64 {
    let mut enters = 0;
    let mut now = [0u64; 3];
    for _ in 0..40 {
        let lane = numbers.below(3) as usize;
        let start_ticks = now[lane];
        let mut events = Vec::new();
        if numbers.below(8) == 0 {
            let event = Event::Lost { events: NonZeroU32::new(numbers.below(3) as u32) };
            events.push(TimedEvent { ticks: start_ticks, event });
        }
        for _ in 0..numbers.below(60) {
            now[lane] += numbers.below(100);
            let event = random_event(numbers);
            enters += u64::from(matches!(event, Event::Enter(_)));
            events.push(TimedEvent { ticks: now[lane], event });
        }
        let id = LaneId { recorder: lane as u32 / 2, stack: lane as u32 % 2 };
        // Mostly nonsense, for the builder doesn't say how many are open.
        builder.push(&Batch {
            lane: id,
            depth: numbers.below(5) as u32,
            start_ticks,
            elsewhere: 0,
            events: &events,
        });
        if numbers.below(20) == 0 {
            // Far ahead, or back: within what sums of ticks can hold.
            now[lane] = numbers.below(1 << 40);
        }
    }
    enters
}

fn check_tree(tree: &CallTree) {
    let children = tree.children();
    let mut seen = 0;
    for (id, node) in std::iter::once((CallTree::ROOT, &tree.nodes()[0])).chain(tree.iter()) {
        assert!(node.parent < id || id == CallTree::ROOT, "parents come before children");
        let of_children: u64 =
            children.of(id).iter().map(|&child| tree.get(child).expect("in the tree").total_ticks).sum();
        assert_eq!(node.total_ticks, node.self_ticks + of_children);
        for &child in children.of(id) {
            assert_eq!(tree.get(child).expect("in the tree").parent, id);
            seen += 1;
        }
        if id != CallTree::ROOT {
            assert!(node.calls > 0 && node.func != HOST);
            assert!(node.min_ticks <= node.max_ticks && node.max_ticks <= node.total_ticks);
            assert!(node.min_ticks.saturating_mul(node.calls) <= node.total_ticks);
            assert!(u64::from(node.unwound + node.unfinished) <= node.calls);
        }
    }
    assert_eq!(seen, tree.nodes().len() - 1);
    let of_all: u64 = tree.nodes().iter().map(|node| node.self_ticks).sum();
    assert_eq!(tree.total_ticks(), of_all);
}

fn check_flat(tree: &CallTree) {
    let flat = FlatProfile::new(tree, &Symbols::default(), &Header::default(), None);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs());
    assert!(close(flat.self_nanos, tree.total_ticks() as f64));
    assert_eq!(flat.calls, tree.iter().map(|(_, node)| node.calls).sum::<u64>());
    let mut shares = 0.0;
    for row in &flat.rows {
        let slack = 1.0 + 1e-9;
        assert!(
            row.self_nanos <= row.total_nanos * slack && row.total_nanos <= flat.self_nanos * slack,
            "{row:?}"
        );
        assert!(
            row.min_nanos <= row.average_nanos * slack && row.average_nanos <= row.max_nanos * slack,
            "{row:?}"
        );
        assert_eq!(row.callers.iter().map(|caller| caller.calls).sum::<u64>(), row.calls);
        shares += row.share;
    }
    assert!(flat.self_nanos == 0.0 || close(shares, 1.0));
    // Recursion, counted another way: what a function's nodes have, less what those have that are inside one of its own.
    let mut totals: FxHashMap<FuncId, f64> = FxHashMap::default();
    for (_, node) in tree.iter() {
        let mut above = node.parent;
        let outermost = loop {
            match tree.get(above) {
                Some(parent) if parent.func == node.func => break false,
                Some(_) if above == CallTree::ROOT => break true,
                Some(parent) => above = parent.parent,
                None => panic!("no such node"),
            }
        };
        *totals.entry(node.func).or_default() += if outermost { node.total_ticks as f64 } else { 0.0 };
    }
    for row in &flat.rows {
        assert!(close(row.total_nanos, totals[&row.func]), "{row:?}");
    }
}

#[test]
fn sums_hold_for_random_events() {
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let mut builder = CallTreeBuilder::new();
        let enters = feed(&mut builder, &mut numbers);
        builder.close(numbers.below(10_000));
        let counts = *builder.counts();
        assert_eq!(counts.calls, enters);
        // Every frame that opens is closed, one way or another.
        let closed = counts.unwound.iter().sum::<u64>() + counts.closed_in_gaps + counts.cut_off;
        let left = counts.leaves - counts.leaves_without_frame;
        assert_eq!(counts.calls + counts.without_enter, closed + left, "seed {seed}");
        let tree = builder.finish(0);
        check_tree(&tree);
        check_flat(&tree);
        assert_eq!(tree.iter().map(|(_, node)| node.calls).sum::<u64>(), enters + counts.without_enter);
    }
}
