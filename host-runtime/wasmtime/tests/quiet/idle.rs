//! Programs that do nothing cost nothing.
#![allow(unsafe_code)]

use crate::alone;
use crate::common::exits::{GUEST, compile, engine, table};
use crate::common::{outermost, recorder_with, summary};
use kperf_rewriter::{Options, Recording, rewrite_component};
use kperf_trace::{Item, TraceReader};
use kperf_wasmtime::{ClockChoice, HostLane, Recorder, is_native};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wasmtime::component::{Component, Linker as ComponentLinker};
use wasmtime::{Engine, Linker, Store};

/// A thread of this process. It gives itself its name when it begins.
fn thread(wanted: &str) -> PathBuf {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let is_wanted = |task: &PathBuf| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == wanted)
        };
        if let Some(task) = tasks.map(|task| task.unwrap().path()).find(is_wanted) {
            return task;
        }
        assert!(Instant::now() < until, "there is no {wanted}");
    }
}

/// How often the sampler's thread was woken.
pub(crate) fn wakeups() -> u64 {
    let status = std::fs::read_to_string(thread("kperf-sampler").join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

/// For how many nanoseconds the ticker's thread has had a processor.
fn spun() -> u64 {
    let told = std::fs::read_to_string(thread("kperf-ticker").join("schedstat")).unwrap();
    told.split(' ').next().unwrap().parse().unwrap()
}

/// Whether this thread can sleep without a signal.
fn sleeps() -> bool {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    // SAFETY: plain data; nobody wants to know the rest.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) == 0 }
}

#[test]
fn without_an_open_call_nothing_runs() {
    let _alone = alone();
    let engine = engine();
    for probe in [Recording::Profile { spans: true }, Recording::Count] {
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
        // A busy machine may grant but one sleep in which nobody was seen, of 50 ms.
        let nanos = |ticks: u64| ticks as f64 / reader.header().clock.ticks_per_second * 1e9;
        assert!(samples > 10 && nanos(idle) > 45e6, "{probe:?}: {samples} samples, {} ns idle", nanos(idle));
        assert!(idle < whole, "{probe:?}");
    }
}

/// What the guest executes in a turn: some milliseconds.
const TURN: i32 = 24;
const TURNS: u32 = 4;

/// Makes turns, each when the ticker sleeps. Answers how long they say that they took, in nanoseconds.
fn turns(mut turn: impl FnMut() -> u64) -> u64 {
    let mut nanos = 0;
    for _ in 0..TURNS {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let before = spun();
            std::thread::sleep(Duration::from_millis(50));
            if spun() == before {
                break;
            }
            assert!(Instant::now() < until, "the ticker runs, but no guest does");
        }
        nanos += turn();
    }
    nanos
}

/// How long a call takes, in nanoseconds.
fn nanos_of<R>(call: impl FnOnce() -> wasmtime::Result<R>) -> u64 {
    let begun = Instant::now();
    call().unwrap();
    begun.elapsed().as_nanos() as u64
}

/// A ticker's recording of turns that `make` prepares.
fn check_turns(form: &str, engine: &Engine, make: impl FnOnce(&Recorder) -> Box<dyn FnMut() -> u64>) {
    let (recorder, trace) =
        recorder_with(engine, |builder| builder.clock(ClockChoice::ticker()).calibrate(false));
    let measured = turns(make(&recorder));
    recorder.finish("completed").unwrap();
    let bytes = trace.bytes();
    let (calls, recorded) = outermost(&bytes);
    assert_eq!(calls, TURNS);
    // Where no processor is free for the ticker, a turn may end in a gap between two ticks, and the trace tells it: the sum of
    // so many gaps is at most the root of the sum of their squares times their number.
    let gaps = (f64::from(TURNS) * summary(&bytes).ticks.squares).sqrt();
    let share = recorded / measured as f64;
    let told = (recorded + gaps) / measured as f64;
    assert!(share <= 1.001 && told >= 0.75, "{form}: {share} of {measured} ns, {told} with its gaps");
}

#[test]
fn a_ticker_sleeps_while_no_guest_runs_and_turns_have_their_own_time() {
    let _alone = alone();
    let engine = engine();
    check_turns("inside the module", &engine, |recorder| {
        let module = compile(&engine, GUEST, Recording::inline());
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let inlined = recorder.link_inlined(&mut store, &mut linker).unwrap();
        linker.func_wrap("host", "h", |_: i32| ()).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let fib = instance.get_typed_func::<i32, i32>(&mut store, "fib").unwrap();
        Box::new(move || nanos_of(|| inlined.call(&mut store, |store| fib.call(store, TURN))))
    });
    let module = compile(&engine, GUEST, Recording::imported());
    check_turns("beside the module", &engine, |recorder| {
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let lane = recorder.link(&mut store, &mut linker).unwrap();
        linker.func_wrap("host", "h", |_: i32| ()).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let fib = instance.get_typed_func::<i32, i32>(&mut store, "fib").unwrap();
        Box::new(move || nanos_of(|| lane.call(&mut store, |store| fib.call(store, TURN))))
    });
    check_turns("host functions", &engine, |recorder| {
        let mut linker: Linker<HostLane> = Linker::new(&engine);
        recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
        linker.func_wrap("host", "h", |_: i32| ()).unwrap();
        let mut store = Store::new(&engine, recorder.host_lane());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let fib = instance.get_typed_func::<i32, i32>(&mut store, "fib").unwrap();
        Box::new(move || nanos_of(|| fib.call(&mut store, TURN)))
    });
    check_turns("component", &engine, |recorder| {
        let text = format!(
            "(component (core module $m {}) (core instance $i (instantiate $m))
               (func (export \"fib\") (param \"n\" s32) (result s32) (canon lift (core func $i \"fib\"))))",
            r#"(func $fib (export "fib") (param i32) (result i32)
                 (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
                   (then (local.get 0))
                   (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                                  (call $fib (i32.sub (local.get 0) (i32.const 2)))))))"#
        );
        let rewritten = rewrite_component(&wat::parse_str(text).unwrap(), &Options::default()).unwrap();
        let component = Component::new(&engine, &rewritten.wasm).unwrap();
        let mut linker: ComponentLinker<()> = ComponentLinker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        let (recorder, engine) = (recorder.clone(), engine.clone());
        // An instance for each: the ticker doesn't sleep while one lives.
        Box::new(move || {
            let mut store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
            let instance = linker.instantiate(&mut store, &component).unwrap();
            let fib = instance.get_typed_func::<(i32,), (i32,)>(&mut store, "fib").unwrap();
            nanos_of(|| store.call(|store| fib.call(store, (TURN,))))
        })
    });
}
