//! Profiles of programs that do nothing cost nothing. A process of its own: its threads are looked at.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs, clippy::unwrap_used, unsafe_code)]

mod common;

use common::exits::{GUEST, compile, engine, table};
use common::recorder_with;
use kperf_rewriter::Probe;
use kperf_trace::{Item, TraceReader};
use kperf_wasmtime::{ClockChoice, is_native};
use std::time::{Duration, Instant};
use wasmtime::{Linker, Store};

/// How often the sampler's thread was woken.
fn wakeups() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let sampler = tasks.map(|task| task.unwrap().path()).find(|task| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "kperf-sampler")
    });
    let status = std::fs::read_to_string(sampler.expect("there is one").join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

/// Whether this thread can sleep without a signal.
fn sleeps() -> bool {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    // SAFETY: plain data; nobody wants to know the rest.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) == 0 }
}

#[test]
fn without_an_open_call_nothing_runs() {
    let engine = engine();
    for probe in [Probe::Profile { spans: true }, Probe::Count] {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) =
            recorder_with(&engine, |builder| builder.clock(ClockChoice::Precise).calibrate(false));
        if is_native(&module) {
            recorder.native_code(&module, &table(GUEST, probe)).unwrap();
        }
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let inlined = recorder.link_inlined(&mut store, &mut linker).unwrap();
        linker.func_wrap("host", "h", |_: i32| ()).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let fib = instance.get_typed_func::<i32, i32>(&mut store, "fib").unwrap();
        for _ in 0..2 {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(40) {
                inlined.call(&mut store, |store| fib.call(store, 20)).unwrap();
            }
            // It comes to rest soon.
            let until = Instant::now() + Duration::from_secs(20);
            loop {
                let before = wakeups();
                if sleeps() && wakeups() == before {
                    break;
                }
                assert!(Instant::now() < until, "{probe:?}: somebody samples a guest that doesn't run");
            }
        }
        drop(store);
        recorder.finish("completed").unwrap();
        let bytes = trace.bytes();
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        let (mut samples, mut idle, mut whole) = (0, 0, 0);
        while let Some(item) = reader.next().unwrap() {
            if let Item::Window(window) = item {
                samples += window.samples;
                idle += window.idle_ticks;
                whole += window.end_ticks - window.start_ticks;
            }
        }
        // Some 80 ms of guest, and at least 100 of sleep in which nobody was seen.
        let nanos = |ticks: u64| ticks as f64 / reader.header().clock.ticks_per_second * 1e9;
        assert!(samples > 10 && nanos(idle) > 80e6, "{probe:?}: {samples} samples, {} ns idle", nanos(idle));
        assert!(idle < whole, "{probe:?}");
    }
}
