//! How fast a trace becomes other tools' formats, as a ratio to reading it alone, and how much memory that takes.
//!
//! The workload is the Game of Life of 2,000 steps, 8 M calls; `KPERF_STEPS=25000` makes it 100 M. Memory must not grow
//! with it, but for the trace itself, which is in memory here.

#[path = "../../profile/benches/common/mod.rs"]
mod common;

use common::{Recorder, life_calls, read_alone};
use kperf_dataset::write_calls;
use kperf_export::formats::{chrome, csv, firefox, kieker, perfetto, pprof, speedscope};
use kperf_profile::{CallFilter, Exported, Profile};
use kperf_trace::{LaneId, TraceReader};
use peak_alloc::PeakAlloc;
use std::io::{self, Write};
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What is written, counted.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Reader<'a> = TraceReader<&'a [u8]>;
type Export = fn(&[u8], &mut Counted) -> io::Result<u64>;

fn reader(file: &[u8]) -> Reader<'_> {
    TraceReader::new(file).expect("a trace")
}

/// Exports by the filter that leaves nothing out.
fn stream(
    file: &[u8],
    out: &mut Counted,
    write: impl FnOnce(Reader<'_>, &CallFilter<'_>, &mut Counted) -> io::Result<Exported>,
) -> io::Result<u64> {
    Ok(write(reader(file), &CallFilter::default(), out)?.calls)
}

const FORMATS: [(&str, Export); 8] = [
    ("chrome", |file, out| stream(file, out, |r, f, out| chrome::write(r, f, "life", out, |_| ()))),
    ("perfetto", |file, out| stream(file, out, |r, f, out| perfetto::write(r, f, "life", out, |_| ()))),
    ("csv", |file, out| stream(file, out, |r, f, out| csv::write(r, f, out, |_| ()))),
    ("parquet", |file, out| stream(file, out, |r, f, out| write_calls(r, f, out, |_| ()))),
    ("kieker", |file, out| stream(file, out, |r, f, out| kieker::write_records(r, f, "life", out, |_| ()))),
    ("firefox", |file, out| stream(file, out, |r, f, out| firefox::write(r, f, 10_000, "life", out, |_| ()))),
    ("speedscope", |file, out| {
        let open = || Ok(reader(file));
        let lanes = [LaneId::default()];
        let found = speedscope::write(open, &CallFilter::default(), &lanes, "life", out, |_| ())?;
        Ok(found.map_or(0, |found| found.calls))
    }),
    ("pprof", |file, out| {
        let profile = Profile::read(reader(file), |_| ())?;
        pprof::write(&profile, out)?;
        Ok(profile.calls())
    }),
];

fn main() -> io::Result<()> {
    let steps = std::env::var("KPERF_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2_000);
    let (calls, rounds) = (life_calls(steps), if steps > 5_000 { 1 } else { 5 });
    let file = Recorder::new(1).game_of_life(steps);
    let mut out = io::stdout().lock();
    writeln!(out, "{calls} calls, a trace of {} bytes, precise clock; best of {rounds}", file.len())?;
    let mut best = [Duration::MAX; FORMATS.len() + 1];
    let (mut bytes, mut peaks) = ([0; FORMATS.len()], [0.0f32; FORMATS.len()]);
    for _ in 0..rounds {
        let start = Instant::now();
        assert_eq!(read_alone(&file), 2 * calls);
        best[FORMATS.len()] = best[FORMATS.len()].min(start.elapsed());
        for (n, (name, export)) in FORMATS.iter().enumerate() {
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage_as_mb();
            let (start, mut written) = (Instant::now(), Counted::default());
            assert_eq!(export(&file, &mut written)?, calls, "{name}");
            best[n] = best[n].min(start.elapsed());
            (bytes[n], peaks[n]) = (written.0, MEMORY.peak_usage_as_mb() - before);
        }
    }
    let floor = best[FORMATS.len()].as_secs_f64();
    writeln!(out, "reading alone: {:.1} M calls/s", calls as f64 / floor / 1e6)?;
    for (n, (name, _)) in FORMATS.iter().enumerate() {
        let time = best[n].as_secs_f64();
        writeln!(
            out,
            "{name:>10}: {:5.1} x reading, {:6.2} M calls/s, {:6.2} bytes a call, {:7.2} MB of memory",
            time / floor,
            calls as f64 / time / 1e6,
            bytes[n] as f64 / calls as f64,
            peaks[n],
        )?;
    }
    Ok(())
}
