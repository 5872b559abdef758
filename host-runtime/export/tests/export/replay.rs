//! Replays, as text.

use crate::support::{completed, reader, simple, trace, trace_with};
use kperf_abi::block::BlockHeader;
use kperf_export::{ReplayOptions, replay};
use kperf_profile::{CallFilter, Range};
use kperf_trace::{ClockInfo, Header};

const PROGRAM: &str = "main{ 500 play{ 500 step{ 1000 } 500 step{ 2000 cell{ 100 } } 200 } 30 cell{ 7 } 70 }";

fn all() -> ReplayOptions<'static> {
    ReplayOptions::default()
}

fn only(filter: CallFilter<'_>) -> ReplayOptions<'_> {
    ReplayOptions { filter, lanes: false, resolution_nanos: None }
}

#[track_caller]
fn check(file: &[u8], options: &ReplayOptions<'_>, expected: &[&str]) {
    let mut out = Vec::new();
    let replayed = replay(reader(file), options, &mut out, |_| ()).expect("to memory");
    let text = String::from_utf8(out).expect("text");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines, expected);
    let calls = lines.iter().filter(|line| line.contains("();") || line.contains("} /* ")).count();
    assert_eq!(replayed.calls, calls as u64);
}

#[test]
fn calls_are_a_tree() {
    check(
        &simple(PROGRAM),
        &all(),
        &[
            "           | main() {",
            "           |   play() {",
            "  1.000 us |     step();",
            "           |     step() {",
            "    100 ns |       cell();",
            "  2.100 us |     } /* step */",
            "  4.300 us |   } /* play */",
            "      7 ns |   cell();",
            "  4.907 us | } /* main */",
        ],
    );
}

#[test]
fn ticks_become_nanoseconds_and_a_header_says_what_the_columns_are() {
    let header =
        Header { clock: ClockInfo { ticks_per_second: 5e8, ..ClockInfo::default() }, ..Header::default() };
    let file = trace_with(&header, &[(0, BlockHeader::default(), "main{ 21 }")], Some(&completed()));
    let mut out = Vec::new();
    replay(reader(&file), &all(), &mut out, |_| ()).expect("to memory");
    assert_eq!(String::from_utf8(out).expect("text"), "# DURATION   FUNCTION\n     42 ns | main();\n");
}

#[test]
fn depth_cuts_levels_off() {
    let options = only(CallFilter { depth: Some(2), ..CallFilter::default() });
    check(
        &simple(PROGRAM),
        &options,
        &[
            "           | main() {",
            "  4.300 us |   play();",
            "      7 ns |   cell();",
            "  4.907 us | } /* main */",
        ],
    );
    check(&simple(PROGRAM), &only(CallFilter { depth: Some(0), ..CallFilter::default() }), &[]);
}

#[test]
fn short_calls_are_hidden() {
    let options = only(CallFilter { min_nanos: 2_000, ..CallFilter::default() });
    check(
        &simple(PROGRAM),
        &options,
        &[
            "           | main() {",
            "           |   play() {",
            "  2.100 us |     step();",
            "  4.300 us |   } /* play */",
            "  4.907 us | } /* main */",
        ],
    );
    check(
        &simple(PROGRAM),
        &only(CallFilter { min_nanos: 4_907, ..CallFilter::default() }),
        &["  4.907 us | main();"],
    );
    check(&simple(PROGRAM), &only(CallFilter { min_nanos: 4_908, ..CallFilter::default() }), &[]);
}

#[test]
fn a_range_shows_what_was_open_in_it() {
    // The second step runs from 2500 to 4600.
    let options =
        only(CallFilter { range: Range { start_nanos: 2_100, end_nanos: 2_600 }, ..CallFilter::default() });
    check(
        &simple(PROGRAM),
        &options,
        &[
            "           | main() {",
            "           |   play() {",
            "  2.100 us |     step();",
            "  4.300 us |   } /* play */",
            "  4.907 us | } /* main */",
        ],
    );
    // Relative to the trace's first block, whatever the clock says.
    let late = BlockHeader { start_ticks: 1 << 60, ..BlockHeader::default() };
    let file = trace(&[(0, late, "1000 a{ 1000 } 1000 b{ 1000 } 1000 c{ 1000 }")], Some(&completed()));
    let options =
        only(CallFilter { range: Range { start_nanos: 2_500, end_nanos: 4_999 }, ..CallFilter::default() });
    check(&file, &options, &["  1.000 us | b();"]);
    let options =
        only(CallFilter { range: Range { start_nanos: 2_000, end_nanos: 3_000 }, ..CallFilter::default() });
    check(&file, &options, &["  1.000 us | a();", "  1.000 us | b();"]);
}

#[test]
fn what_is_not_kept_is_passed_through() {
    let options = only(CallFilter {
        keep: &|symbols, func| !["play", "step"].contains(&&*symbols.name(func)),
        ..CallFilter::default()
    });
    check(
        &simple(PROGRAM),
        &options,
        &[
            "           | main() {",
            "    100 ns |   cell();",
            "      7 ns |   cell();",
            "  4.907 us | } /* main */",
        ],
    );
    // Levels are counted among what is kept.
    let options = only(CallFilter {
        keep: &|symbols, func| symbols.name(func) != "play",
        depth: Some(2),
        ..CallFilter::default()
    });
    check(
        &simple(PROGRAM),
        &options,
        &[
            "           | main() {",
            "  1.000 us |   step();",
            "  2.100 us |   step();",
            "      7 ns |   cell();",
            "  4.907 us | } /* main */",
        ],
    );
}

#[test]
fn frames_that_did_not_leave_say_why() {
    check(
        &simple("main{ 1 try{ 1 a{ 2 b{ 3 caught>2 4 } 5 a{ 1 trap>0 5 main{ 3 c{ 2"),
        &all(),
        &[
            "           | main() {",
            "           |   try() {",
            "           |     a() {",
            "      3 ns |       b(); /* unwound */",
            "      5 ns |     } /* a: unwound */",
            "     10 ns |   } /* try */",
            "      1 ns |   a(); /* trap */",
            "     17 ns | } /* main: trap */",
            "           | main() {",
            "      0 ns |   c(); /* cut off */",
            "      3 ns | } /* main: cut off */",
        ],
    );
}

#[test]
fn marks_stand_where_they_were_made() {
    check(
        &simple("mark=1 500 main{ 10 mark=2 10 step{ 5 } 10 mark=3 1 }"),
        &all(),
        &[
            "           | /* mark 1, at 0 ns */",
            "           | main() {",
            "           |   /* mark 2, at 510 ns */",
            "      5 ns |   step();",
            "           |   /* mark 3, at 535 ns */",
            "     36 ns | } /* main */",
        ],
    );
    // A mark inside calls that may turn out too short stands inside those that can't.
    let options = only(CallFilter { min_nanos: 20, ..CallFilter::default() });
    check(
        &simple("main{ 20 step{ 3 mark=7 } 1 }"),
        &options,
        &["           | main() {", "           |   /* mark 7, at 23 ns */", "     24 ns | } /* main */"],
    );
}

#[test]
fn lanes_have_a_column() {
    let options = ReplayOptions { lanes: true, ..all() };
    let start = BlockHeader::default();
    let file = trace(
        &[(0, start, "main{ 10 step{ 1 } stack=3 5 other{ 5 } stack=0 1 }"), (12, start, "main{ 7 }")],
        Some(&completed()),
    );
    check(
        &file,
        &options,
        &[
            "               [0]| main() {",
            "      1 ns     [0]|   step();",
            "      5 ns   [0.3]| other();",
            "     22 ns     [0]| } /* main */",
            "      7 ns    [12]| main();",
        ],
    );
}

#[test]
fn deep_calls_say_how_deep_they_are() {
    let mut words: Vec<&str> = vec!["a{"; 70_000];
    words.extend(std::iter::repeat_n("}", 70_000));
    let file = simple(&words.join(" "));
    let mut out = Vec::new();
    replay(reader(&file), &all(), &mut out, |_| ()).expect("to memory");
    let text = String::from_utf8(out).expect("text");
    let longest = text.lines().map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 2_100), "{longest:?}");
    assert!(text.contains("/* 69999 deep */ a();"), "{}", &text[text.len() / 2 - 5_000..][..10_000]);
}
