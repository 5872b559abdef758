//! Flat profiles.

use crate::support::{Names, batch, events};
use kperf_profile::{CallTreeBuilder, FlatProfile, Symbols};
use kperf_trace::{ClockInfo, Header, ProbeCost};

fn flat(script: &str, ticks_per_second: f64, compensate: Option<ProbeCost>) -> String {
    let mut names = Names::default();
    let mut builder = CallTreeBuilder::new();
    builder.push(&batch(0, 0, 0, &events(&mut names, 0, script)));
    let header =
        Header { clock: ClockInfo { ticks_per_second, ..ClockInfo::default() }, ..Header::default() };
    let symbols: Symbols = names.symbols();
    let flat = FlatProfile::new(&builder.finish(0), &symbols, &header, compensate.as_ref());
    let mut text = String::new();
    for row in &flat.rows {
        let callers: Vec<String> = row
            .callers
            .iter()
            .map(|caller| format!("{} {}", symbols.label(caller.func), caller.calls))
            .collect();
        text.push_str(&format!(
            "{}: {} calls, total {}, self {} ({:.0}%), avg {}, min {}, max {}, from {}\n",
            row.name,
            row.calls,
            row.total_nanos,
            row.self_nanos,
            100.0 * row.share,
            row.average_nanos,
            row.min_nanos,
            row.max_nanos,
            callers.join(", "),
        ));
    }
    text
}

#[test]
fn rows_sum_up_all_paths() {
    assert_eq!(
        flat("main{ 1 step{ 10 cell{ 4 } } 2 cell{ 2 } cell{ 3 } 3 }", 1e9, None),
        "step: 1 calls, total 14, self 10 (40%), avg 14, min 14, max 14, from main 1
cell: 3 calls, total 9, self 9 (36%), avg 3, min 2, max 4, from main 2, step 1
main: 1 calls, total 25, self 6 (24%), avg 25, min 25, max 25, from [host] 1
"
    );
}

#[test]
fn the_recorder_s_time_is_in_totals_and_in_no_share() {
    assert_eq!(
        flat("main{ 6 pause=2 step{ 9 pause=3 } }", 1e9, None),
        "step: 1 calls, total 9, self 6 (60%), avg 9, min 9, max 9, from main 1
main: 1 calls, total 15, self 4 (40%), avg 15, min 15, max 15, from [host] 1
"
    );
}

#[test]
fn recursion_counts_once_in_total() {
    // even calls odd calls even: 1 + 2 + 3 + 4 ticks of self time.
    assert_eq!(
        flat("even{ 1 odd{ 2 even{ 3 odd{ 4 } } } }", 1e9, None),
        "odd: 2 calls, total 9, self 6 (60%), avg 6.5, min 4, max 9, from even 2
even: 2 calls, total 10, self 4 (40%), avg 8.5, min 7, max 10, from odd 1, [host] 1
"
    );
}

#[test]
fn ticks_become_nanoseconds() {
    assert_eq!(
        flat("main{ 3 }", 2e9, None),
        "main: 1 calls, total 1.5, self 1.5 (100%), avg 1.5, min 1.5, max 1.5, from [host] 1\n"
    );
}

#[test]
fn compensation_takes_the_probes_off() {
    let cost = ProbeCost { inside_nanos: 2.0, outside_nanos: 3.0 };
    // main: 30 itself, less 2 of its own and 2 x 3 of its callees'; its total less 3 x 2 and 2 x 3.
    assert_eq!(
        flat("main{ 10 leaf{ 10 } 10 leaf{ 20 } 10 }", 1e9, Some(cost)),
        "leaf: 2 calls, total 26, self 26 (54%), avg 13, min 8, max 18, from main 2
main: 1 calls, total 48, self 22 (46%), avg 48, min 48, max 48, from [host] 1
"
    );
}

#[test]
fn compensation_never_goes_below_nothing_and_sums_before_it_cuts() {
    let cost = ProbeCost { inside_nanos: 4.0, outside_nanos: 6.0 };
    // A coarse clock: one of three calls saw a tick of 20. 20 - 3 x 4 = 8, though two of them are below nothing.
    assert_eq!(
        flat("a{ leaf{ } } b{ leaf{ } } c{ 50 leaf{ 20 } }", 1e9, Some(cost)),
        "c: 1 calls, total 56, self 40 (83%), avg 56, min 56, max 56, from [host] 1
leaf: 3 calls, total 8, self 8 (17%), avg 2.6666666666666665, min 0, max 16, from a 1, b 1, c 1
a: 1 calls, total 0, self 0 (0%), avg 0, min 0, max 0, from [host] 1
b: 1 calls, total 0, self 0 (0%), avg 0, min 0, max 0, from [host] 1
"
    );
}

#[test]
fn what_is_counted_only_has_no_inside_and_costs_its_caller() {
    let mut names = Names::default();
    let mut builder = CallTreeBuilder::new();
    builder.push(&batch(0, 0, 0, &events(&mut names, 0, "main{ 40 leaf{ } leaf{ } }")));
    let mut symbols = Symbols::default();
    let mut table = names.symbols().tables()[0].clone();
    table.symbols.iter_mut().for_each(|symbol| symbol.counted = &*symbol.name == "leaf");
    symbols.add(table);
    let cost = ProbeCost { inside_nanos: 2.0, outside_nanos: 3.0 };
    let flat = FlatProfile::new(&builder.finish(0), &symbols, &Header::default(), Some(&cost));
    let rows: Vec<_> =
        flat.rows.iter().map(|row| (&*row.name, row.is_counted, row.total_nanos, row.self_nanos)).collect();
    assert_eq!(rows, [("main", false, 32.0, 32.0), ("leaf", true, 0.0, 0.0)]);
}
