//! Levels of detail.

use crate::support::{Numbers, reader, simple};
use kperf_profile::{Level, Profile, Symbols, Timeline};

fn levels(trace: &[u8], budget: usize) -> (Profile, Vec<Level>) {
    let (profile, timeline) =
        Profile::read_observed(reader(trace), Timeline::new(budget), None, |_| ()).expect("from memory");
    assert_eq!(timeline.left_out(), Default::default());
    (profile, timeline.levels())
}

/// The spans as text: a line per depth.
fn text(level: &Level, symbols: &Symbols) -> String {
    let mut text = String::new();
    for (lane, depth, track) in level
        .lanes
        .iter()
        .flat_map(|lane| lane.tracks.iter().enumerate().map(move |(depth, track)| (lane.lane, depth, track)))
    {
        text.push_str(&format!("{lane} {depth}:"));
        for span in track {
            let name = symbols.label(span.func);
            text.push_str(&format!(" {name} {}-{}", span.start_ticks, span.end_ticks));
            if span.calls > 1 {
                text.push_str(&format!(" x{}", span.calls));
            }
        }
        text.push('\n');
    }
    text
}

#[test]
fn a_short_trace_keeps_every_call() {
    let (profile, levels) = levels(&simple("main{ 1 step{ 10 cell{ 4 } } 2 cell{ 2 } 3 }"), 100);
    assert_eq!(levels.len(), 1, "no coarser level is needed");
    assert_eq!(levels[0].resolution_ticks, 1);
    assert_eq!(
        text(&levels[0], &profile.symbols),
        "0 0: main 0-22\n0 1: step 1-15 cell 17-19\n0 2: cell 11-15\n"
    );
}

#[test]
fn calls_that_the_clock_cannot_tell_apart_are_one_span() {
    let (profile, levels) = levels(&simple("main{ a{ } b{ } a{ 1 } a{ } b{ } }"), 100);
    assert_eq!(text(&levels[0], &profile.symbols), "0 0: main 0-1\n0 1: a 0-0 x2 a 0-1 a 1-1 x2\n");
}

#[test]
fn beyond_the_budget_neighbours_are_merged_and_the_longest_names_them() {
    let calls: String = (0..64).map(|n| if n % 8 == 3 { "long{ 9 } 1 " } else { "short{ 1 } 1 " }).collect();
    let (profile, levels) = levels(&simple(&format!("main{{ {calls} }}")), 40);
    let finest = &levels[0];
    assert!(finest.resolution_ticks > 1 && finest.spans() <= 40, "{finest:?}");
    let track = &finest.lanes[0].tracks[1];
    assert_eq!(track.iter().map(|span| span.calls).sum::<u32>(), 64);
    let long = track.iter().filter(|span| profile.symbols.label(span.func) == "long").count();
    assert_eq!(long, 8, "{}", text(finest, &profile.symbols));
}

/// Any calls at any times: nothing is lost, nothing overlaps, each level is as fine as it says.
#[test]
fn every_level_stands_for_all_calls() {
    let mut numbers = Numbers(7);
    for budget in [300, 5_000, 1_000_000] {
        let mut script = String::new();
        let (mut depth, mut calls) = (0, 0);
        while calls < 12_000 || depth > 0 {
            if calls < 12_000 && depth < 6 && (depth == 0 || numbers.below(2) == 0) {
                script.push_str(&format!("f{}{{ {} ", numbers.below(9), numbers.below(30)));
                (depth, calls) = (depth + 1, calls + 1);
            } else {
                script.push_str(&format!("{} }} ", numbers.below(3)));
                depth -= 1;
            }
        }
        let (profile, levels) = levels(&simple(&script), budget);
        assert!(
            levels.len() > 1 || levels[0].spans() <= 4_000,
            "{} spans and no coarser level",
            levels[0].spans()
        );
        for pair in levels.windows(2) {
            assert!(pair[1].resolution_ticks > pair[0].resolution_ticks);
            assert!(pair[1].spans() <= pair[0].spans() * 2 / 3);
        }
        for level in &levels {
            assert!(level.spans() <= budget);
            let tracks = || level.lanes.iter().flat_map(|lane| &lane.tracks);
            assert_eq!(tracks().flatten().map(|span| u64::from(span.calls)).sum::<u64>(), profile.calls());
            for pair in tracks().flat_map(|track| track.windows(2)) {
                assert!(pair[0].end_ticks <= pair[1].start_ticks);
                assert!(pair[1].end_ticks - pair[0].start_ticks >= level.resolution_ticks, "{pair:?}");
            }
            assert!(tracks().flatten().all(|span| {
                span.calls == 1 || span.end_ticks - span.start_ticks < level.resolution_ticks
            }));
        }
    }
}
