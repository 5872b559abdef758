//! A real file that can't grow for a moment: the limit is the process's.
#![allow(unsafe_code)]

use super::is_alone;
use crate::common::*;
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, ErrorKind, Recorder};
use std::fs::File;

fn limit(bytes: libc::rlim_t) {
    // SAFETY: plain data, and a signal that is to be ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
}

#[test]
fn a_file_that_is_full_for_a_moment_has_no_half_chunks() {
    if !is_alone(module_path!(), "a_file_that_is_full_for_a_moment_has_no_half_chunks") {
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let engine = engine();
    let sink = File::create(file.path()).unwrap();
    let recorder = Recorder::builder().clock(ClockChoice::Test).sink(sink).build(&engine).unwrap();
    run(&recorder, &engine, "many", Some(100_000), || {});
    while recorder.stats().events < 200_000 {
        std::thread::yield_now();
    }
    // The next block begins below the limit and ends above it.
    limit(recorder.stats().bytes + 100);
    run(&recorder, &engine, "many", Some(100_000), || {});
    while recorder.stats().lost_events < 200_000 {
        std::thread::yield_now();
    }
    limit(libc::RLIM_INFINITY);
    run(&recorder, &engine, "many", Some(100_000), || {});
    let error = recorder.finish("completed").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Write { dropped_events: 200_000, .. }), "{error:?}");

    let bytes = std::fs::read(file.path()).unwrap();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let (mut events, mut lost) = (0, 0);
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            match timed.event {
                Event::Lost { events } => lost += events.expect("counted").get(),
                _ => events += 1,
            }
        }
    }
    assert_eq!((events, lost, reader.anomalies()), (400_000, 200_000, &[][..]));
}
