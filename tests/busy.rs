//! Times are true on a busy machine, on which the ticker's thread isn't run for milliseconds at a time.

use crate::common::burners::Burners;
use cpu_time::ThreadTime;
use kperf_profile::{FlatProfile, Profile};
use kperf_rewriter::{Options, Recording, rewrite};
use kperf_trace::{Summary, TraceReader, Waits};
use kperf_wasmtime::{ClockChoice, Recorder};
use std::time::Instant;
use wasmtime::{Config, Engine, Linker, Module, Store};

/// `run` calls `leaf` as often as its argument says. A call of `leaf` takes some 100 ns, or some 100 us if `long` is set.
const GUEST: &str = r#"(module
    (func $leaf (param $turns i32)
      (loop $again (br_if $again (local.tee $turns (i32.sub (local.get $turns) (i32.const 1))))))
    (func (export "run") (param $calls i32) (param $turns i32)
      (loop $again
        (call $leaf (local.get $turns))
        (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))))"#;
/// The number of calls, and of turns of a loop in each: many events in a few milliseconds, and few events in the same time.
const GUESTS: [(u32, u32); 2] = [(40_000, 200), (40, 200_000)];

/// What a trace has of the guest's time.
struct Accounted {
    /// Self times, waits, and time in the recorder, as a share of the wall time.
    of_wall: f64,
    /// Self times and time in the recorder, as a share of the thread's processor time.
    of_processor: f64,
    summary: Summary,
}

/// Records a guest.
fn accounted(recording: Recording, clock: ClockChoice, (calls, turns): (u32, u32)) -> Accounted {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    let engine = Engine::new(&config).expect("an engine");
    let rewritten =
        rewrite(&wat::parse_str(GUEST).expect("a module"), &Options { recording, ..Options::default() })
            .expect("probes");
    let module = Module::new(&engine, &rewritten.wasm).expect("a module");
    let trace = tempfile::NamedTempFile::new().expect("a file");
    let builder = Recorder::builder().clock(clock).calibrate(false);
    let recorder = builder.sink(trace.reopen().expect("the file")).build(&engine).expect("a recorder");
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let (mut wall, mut processor) = (0.0, 0.0);
    let mut timed = |store: &mut Store<()>, linker: &Linker<()>| {
        let instance = linker.instantiate(&mut *store, &module)?;
        let run = instance.get_typed_func::<(u32, u32), ()>(&mut *store, "run")?;
        // The recorder's first turn isn't time of the guest.
        run.call(&mut *store, (1, 1))?;
        // In this order: reading its processor time may cost the thread the processor.
        let (begin_processor, begin) = (ThreadTime::now(), Instant::now());
        run.call(&mut *store, (calls, turns))?;
        processor = begin_processor.elapsed().as_nanos() as f64;
        wall = begin.elapsed().as_nanos() as f64;
        Ok(())
    };
    match recording {
        Recording::Imported(_) => {
            let lane = recorder.link(&mut store, &mut linker).expect("a lane");
            lane.call(&mut store, |store| timed(store, &linker)).expect("it runs");
        }
        _ => {
            let lanes = recorder.link_inlined(&mut store, &mut linker).expect("lanes");
            lanes.call(&mut store, |store| timed(store, &linker)).expect("it runs");
        }
    }
    let summary = recorder.finish("completed").expect("a trace");
    let bytes = std::fs::read(trace.path()).expect("the trace");
    let profile = Profile::read(TraceReader::new(&bytes[..]).expect("a trace"), |_| ()).expect("a profile");
    assert_eq!(profile.calls(), u64::from(calls) + 3);
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let of_processor = (flat.self_nanos + flat.recorder_nanos) / processor;
    Accounted { of_wall: flat.whole_nanos() / wall, of_processor, summary }
}

/// Without the checks on the guest's thread, runs of this length have no time at all, or only that of the ticker's last turn.
#[test]
fn the_guest_s_time_is_in_the_trace_however_busy_the_machine_is() {
    let processors = std::thread::available_parallelism().map_or(2, |count| count.get());
    let _burners = Burners::start(3 * processors).expect("busy processes");
    for recording in [Recording::inline(), Recording::imported()] {
        for guest in GUESTS {
            let mut parts = Vec::new();
            for _ in 0..15 {
                let Accounted { of_wall, summary, .. } = accounted(recording, ClockChoice::ticker(), guest);
                parts.push(of_wall);
                let (stalled, wall) = (summary.ticker_stalls.nanos, summary.ticks.nanos);
                assert!(stalled <= wall, "{stalled} ns of stalls in {wall} ns");
            }
            parts.sort_by(f64::total_cmp);
            // The scheduler may stop this thread between a reading of the clock here and one in the recorder.
            let middle = &parts[4..11];
            assert!(
                middle.iter().all(|part| (0.97..1.03).contains(part)),
                "{recording:?} {guest:?}: {parts:.3?}"
            );
        }
    }
}

/// Without the waits, a guest that gets a quarter of a processor has four times its self time.
#[test]
fn self_times_are_the_thread_s_processor_time_however_busy_the_machine_is() {
    let processors = std::thread::available_parallelism().map_or(2, |count| count.get());
    let _burners = Burners::start(3 * processors).expect("busy processes");
    for clock in [ClockChoice::Precise, ClockChoice::ticker()] {
        let mut parts = Vec::new();
        for _ in 0..9 {
            let Accounted { of_processor, summary, .. } = accounted(Recording::imported(), clock, GUESTS[0]);
            match summary.waits {
                Waits::Exact | Waits::Estimated => parts.push(of_processor),
                // Only Linux says it.
                Waits::Unknown if cfg!(target_os = "linux") => panic!("{summary:?}"),
                Waits::Unknown => {}
            }
        }
        parts.sort_by(f64::total_cmp);
        let middle = parts.get(2..7).unwrap_or_default();
        assert!(middle.iter().all(|part| (0.97..1.03).contains(part)), "{clock:?}: {parts:.3?}");
    }
}
