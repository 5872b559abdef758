//! Call trees, as text.

use crate::support::{Names, batch, events};
use kperf_profile::CallTreeBuilder;

/// The tree of batches of (recorder, depth, start, script), and the problems.
fn tree(batches: &[(u32, u32, u64, &str)]) -> String {
    let mut names = Names::default();
    let mut builder = CallTreeBuilder::new();
    for &(recorder, depth, start, script) in batches {
        builder.push(&batch(recorder, depth, start, &events(&mut names, start, script)));
    }
    builder.close(builder.last_ticks());
    let problems: String =
        builder.problems().first().iter().map(|problem| format!("! {problem}\n")).collect();
    format!("{}{problems}", builder.finish(0).display(&names.symbols()))
}

fn check(batches: &[(u32, u32, u64, &str)], expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let margin = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|line| format!("{}\n", &line[margin..])).collect();
    assert_eq!(tree(batches), expected);
}

#[test]
fn self_is_what_calls_of_its_own_do_not_take() {
    check(
        &[(0, 0, 0, "main{ 1 step{ 10 } 2 step{ 20 cell{ 5 } } 3 cell{ 1 } 1 }")],
        "
        main: 1 call, total 43, self 7
          step: 2 calls, total 35, self 30, min 10, max 25
            cell: 1 call, total 5, self 5
          cell: 1 call, total 1, self 1
        ",
    );
}

#[test]
fn a_pause_is_nobody_s_own_time() {
    check(
        &[(0, 0, 0, "9 pause=4 main{ 10 pause=4 step{ 5 pause=3 pause=2 } 1 } 7 pause=7")],
        "
        main: 1 call, total 16, self 7
          [recorder]: 0 calls, total 4, self 4
          step: 1 call, total 5, self 0
            [recorder]: 0 calls, total 5, self 5
        ",
    );
    // So are waits, each kind by itself; a sum that is larger than the gap is cut.
    check(
        &[(0, 0, 0, "main{ 10 wait=2 own=3 guess=1 pause=1 step{ 5 own=2 own=4 } 9 }")],
        "
        main: 1 call, total 24, self 12
          [recorder]: 0 calls, total 1, self 1
          [waiting for a processor]: 0 calls, total 3, self 3
          [waiting]: 0 calls, total 3, self 3
          step: 1 call, total 5, self 0
            [waiting]: 0 calls, total 5, self 5
        ",
    );
    // What can't be is cut to what there is.
    check(
        &[(0, 0, 0, "main{ 3 pause=100 }")],
        "
        main: 1 call, total 3, self 0
          [recorder]: 0 calls, total 3, self 3
        ",
    );
}

#[test]
fn a_wait_of_the_guest_s_own_is_a_pause() {
    check(
        &[(0, 0, 0, "main{ 1 lock{ 2 waits{ 30 } 3 waits{ } waits{ 4 } } 5 }")],
        "
        main: 1 call, total 45, self 6
          lock: 1 call, total 39, self 5
            [waiting]: 0 calls, total 34, self 34
        ",
    );
    // What its thread did meanwhile is a part of it, and is not told after it again.
    check(
        &[(0, 0, 0, "main{ 1 waits{ 10 own=4 wait=3 pause=2 5 } own=14 6 }")],
        "
        main: 1 call, total 22, self 7
          [waiting]: 0 calls, total 15, self 15
        ",
    );
    // It may go on in the next block, which says how deep the recorder is; and end with its callers.
    check(
        &[
            (0, 0, 0, "main{ 1 waits{ 10"),
            (0, 2, 11, "20 trap>1 3 }"),
            (0, 0, 34, "main{ waits{"),
            (1, 0, 41, "other{ }"),
        ],
        "
        main: 2 calls, total 41, self 4, min 7, max 34, 1 unfinished
          [waiting]: 0 calls, total 37, self 37
        other: 1 call, total 0, self 0
        ",
    );
    // Outside of all calls it is nobody's.
    check(&[(0, 0, 0, "waits{ 10 } main{ 1 }")], "main: 1 call, total 1, self 1");
    // The host calls the guest from there.
    check(
        &[(0, 0, 0, "main{ 1 waits{ 10 callback{ 2 waits{ 3 } } 4 } 5 }")],
        "
        main: 1 call, total 25, self 6
          [waiting]: 0 calls, total 10, self 10
          memory.atomic.wait: 1 call, total 9, self 4
            callback: 1 call, total 5, self 2
              [waiting]: 0 calls, total 3, self 3
        ",
    );
}

#[test]
fn a_suspended_stack_waits_in_its_innermost_call() {
    check(
        &[(0, 0, 0, "main{ 1 await{ 2"), (0, 2, 50, "own=46 3 } 1 }"), (0, 0, 90, "own=20 other{ 1 }")],
        "
        main: 1 call, total 54, self 2
          await: 1 call, total 52, self 6
            [waiting]: 0 calls, total 46, self 46
        other: 1 call, total 1, self 1
        ",
    );
    // No longer than it was suspended.
    check(
        &[(0, 0, 0, "main{ 1 await{ 2"), (0, 2, 50, "own=1000 3 } 1 }")],
        "
        main: 1 call, total 54, self 2
          await: 1 call, total 52, self 3
            [waiting]: 0 calls, total 49, self 49
        ",
    );
}

#[test]
fn a_call_may_span_batches() {
    check(
        &[(0, 0, 0, "main{ 1 step{ 10"), (0, 2, 7, "4 } 1"), (0, 1, 12, "5 }")],
        "
        main: 1 call, total 17, self 7
          step: 1 call, total 10, self 10
        ",
    );
}

#[test]
fn recursion_has_a_node_per_level() {
    check(
        &[(0, 0, 0, "fib{ 1 fib{ 1 fib{ 1 } } fib{ 2 } }")],
        "
        fib: 1 call, total 5, self 1
          fib: 2 calls, total 4, self 3, min 2, max 2
            fib: 1 call, total 1, self 1
        ",
    );
}

#[test]
fn lanes_share_the_tree_but_not_the_stack() {
    check(
        &[
            (0, 0, 0, "main{ 10 step{"),
            (1, 0, 5, "main{ 1 step{ 1 } }"),
            (0, 2, 10, "30 } }"),
            (1, 0, 7, "other{ 1 }"),
        ],
        "
        main: 2 calls, total 42, self 11, min 2, max 40
          step: 2 calls, total 31, self 31, min 1, max 30
        other: 1 call, total 1, self 1
        ",
    );
}

#[test]
fn unwound_frames_are_closed_and_told_apart_from_those_cut_short() {
    check(
        &[(0, 0, 0, "main{ try{ 1 a{ 2 b{ 3 caught>2 4 } 5 a{ 1 trap>0")],
        "
        main: 1 call, total 16, self 5, 1 unfinished
          try: 1 call, total 10, self 5
            a: 1 call, total 5, self 2, 1 unwound
              b: 1 call, total 3, self 3, 1 unwound
          a: 1 call, total 1, self 1, 1 unfinished
        ",
    );
}

#[test]
fn what_is_open_at_the_end_is_closed_at_the_end() {
    let mut names = Names::default();
    let mut builder = CallTreeBuilder::new();
    builder.push(&batch(0, 0, 0, &events(&mut names, 0, "main{ 5 step{ 5 step{")));
    builder.push(&batch(1, 0, 0, &events(&mut names, 0, "main{ 50 }")));
    let tree = builder.finish(100).display(&names.symbols()).to_string();
    assert_eq!(
        tree,
        "main: 2 calls, total 150, self 55, min 50, max 100, 1 unfinished
  step: 1 call, total 95, self 5, 1 unfinished
    step: 1 call, total 90, self 90, 1 unfinished
"
    );
}

#[test]
fn after_a_gap_the_stack_is_what_the_recorder_says() {
    // Deeper frames are closed as lost ..
    check(
        &[(0, 0, 0, "main{ 1 a{ 1 b{ 1 c{ 1"), (0, 2, 100, "lost=7 1 } 1 }")],
        "
        main: 1 call, total 102, self 2
          a: 1 call, total 100, self 2
            b: 1 call, total 98, self 1, 1 unfinished
              c: 1 call, total 97, self 97, 1 unfinished
        ",
    );
    // .. and those that nobody saw open are there all the same.
    check(
        &[(0, 0, 0, "main{ 1"), (0, 3, 100, "lost=? 1 x{ 1 } } } 1 }")],
        "
        main: 1 call, total 103, self 101
          [lost]: 1 call, total 2, self 0
            [lost]: 1 call, total 2, self 1
              x: 1 call, total 1, self 1
        ",
    );
}

#[test]
fn a_gap_concerns_all_stacks_of_its_recorder_and_no_other() {
    let mut names = Names::default();
    let mut builder = CallTreeBuilder::new();
    let mut push = |recorder, stack, depth, start, script| {
        let events = events(&mut names, start, script);
        let lane = kperf_trace::LaneId { recorder, stack };
        builder.push(&kperf_trace::Batch { lane, ..batch(0, depth, start, &events) });
        builder.problems().count()
    };
    push(0, 0, 0, 0, "main{");
    push(0, 1, 0, 0, "main{ a{");
    push(1, 0, 0, 0, "main{ a{");
    push(0, 0, 1, 5, "lost=3 }");
    assert_eq!(push(0, 1, 1, 6, "1 }"), 0);
    assert_eq!(push(1, 0, 1, 6, "}"), 1);
    let problems: Vec<_> = builder.problems().first().iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["lane 1: a block says 1 frames are open where 2 are, at tick 6"]);
    assert_eq!(
        (builder.counts().gaps, builder.counts().lost_events, builder.counts().closed_in_gaps),
        (1, 3, 2)
    );
}

#[test]
fn what_does_not_fit_together_is_told_and_survived() {
    check(
        &[(3, 0, 0, "} 4 main{ 1 } }"), (3, 0, 2, "main{ caught>5 caught>1 1 }"), (3, 2, 9, "}")],
        "
        main: 2 calls, total 1, self 1, min 0, max 1
        [lost]: 1 call, total 0, self 0, 1 unfinished
          [lost]: 1 call, total 0, self 0
        ! lane 3: a leave without an open frame at tick 0
        ! lane 3: a leave without an open frame at tick 5
        ! lane 3: time goes back from tick 5 to 2
        ! lane 3: an unwind to depth 5 with 1 frames open at tick 5
        ! lane 3: an unwind to depth 1 with 1 frames open at tick 5
        ! lane 3: a block says 2 frames are open where 0 are, at tick 9
        ",
    );
}
