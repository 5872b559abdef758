//! How fast a trace becomes a report.
//!
//! Two workloads: the Game of Life's calls, whose tree has seven nodes, and calls that go anywhere, with a tree of some
//! 37,000 nodes and never the same callee twice in a row but by chance. Wanted: at least 50 M events a second on one core
//! for reading and the call tree together. Reading alone is printed beside it.

mod common;

use common::{Recorder, life_calls, read_alone};
use kperf_profile::{FlatProfile, Profile};
use kperf_trace::TraceReader;
use std::io::Write;
use std::time::{Duration, Instant};

const STEPS: u64 = 2_000;
const ANYWHERE_CALLS: u64 = 4_000_000;

fn report(file: &[u8]) -> u64 {
    let profile = Profile::read(TraceReader::new(file).expect("a trace"), |_| ()).expect("from memory");
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!(flat.calls, profile.calls());
    profile.health.counts.events()
}

/// The shortest and the median time of what is run in turn.
fn measure<const N: usize>(
    events: u64,
    mut subjects: [&mut dyn FnMut() -> u64; N],
) -> [(Duration, Duration); N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..11 {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(subject(), events);
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort();
        (times[0], times[times.len() / 2])
    })
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "M events/s at best (median)")?;
    for (clock, period) in [("precise", 1), ("ticker", 2_000)] {
        let life = Recorder::new(period).game_of_life(STEPS);
        let anywhere = Recorder::new(period).anywhere(ANYWHERE_CALLS);
        for (workload, file, calls) in
            [("life", life, life_calls(STEPS)), ("anywhere", anywhere, ANYWHERE_CALLS)]
        {
            let events = 2 * calls;
            let [read, report] = measure(events, [&mut || read_alone(&file), &mut || report(&file)]);
            let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
            writeln!(
                out,
                "{workload:>9} {clock:>8}: read {:.0} ({:.0}), read and report {:.0} ({:.0}), {:.2} times as long; \
                 {:.3} bytes a call",
                rate(read.0),
                rate(read.1),
                rate(report.0),
                rate(report.1),
                report.1.as_secs_f64() / read.1.as_secs_f64(),
                file.len() as f64 / calls as f64,
            )?;
        }
    }
    Ok(())
}
