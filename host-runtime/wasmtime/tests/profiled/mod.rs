//! Modules that make a profile: exact counts, true paths, and nothing lost on any way out.

mod guest;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
mod pooled;

use crate::common::exits::{GUEST, compile, engine};
use crate::common::*;
use guest::*;
use kperf_rewriter::Recording;
use kperf_trace::{
    Event, FuncId, Item, Reason, TraceReader, WAITING, WAITING_FOR_PROCESSOR, Window, WindowNode,
};
use kperf_wasmtime::{ClockChoice, Sampling, is_profile};
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use wasmtime::{Linker, MemoryType, Module, SharedMemory, Store};

#[test]
fn counts_are_those_of_a_full_trace() {
    let engine = engine();
    let (traced, trace) = recorder(&engine);
    let results = drive(&traced, &compile(&engine, GUEST, Recording::inline()));
    traced.finish("completed").unwrap();
    let expected = read(&trace.bytes()).calls;
    assert!(expected.values().sum::<u64>() > 10_000);
    for probe in profiles() {
        for clock in [ClockChoice::Test, ClockChoice::Precise, ClockChoice::ticker()] {
            let module = compile(&engine, GUEST, probe);
            assert!(is_profile(&module));
            let (recorder, trace) = recorder_with(&engine, |builder| builder.clock(clock));
            assert_eq!(drive(&recorder, &module), results);
            recorder.finish("completed").unwrap();
            assert_eq!(read(&trace.bytes()).calls, expected, "{probe:?}, {clock:?}");
        }
    }
}

#[test]
fn under_the_test_clock_a_profile_is_its_counts() {
    let engine = engine();
    for probe in telling() {
        let (recorder, trace) = recorder(&engine);
        drive(&recorder, &compile(&engine, GUEST, probe));
        recorder.finish("completed").unwrap();
        assert_text(
            &trace.text(),
            "0 profile: 0 samples, 0 paths, calls [(100, 4188), (101, 8366), (102, 5001), (103, 6), (104, 1), (105, 1), \
             (106, 5), (107, 2), (108, 2)]
             end @6 completed: 0 events, 0 blocks, 0 dropped, 1 recorders",
        );
    }
}

#[test]
fn samples_find_the_calls_that_are_open_and_no_others() {
    let engine = engine();
    for probe in profiles() {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        // What was unwound before, in the guest and by traps, is seen no more.
        for (name, value) in [("traps", 9), ("catches", 9), ("host", 0), ("around", 7), ("recurses", 20)] {
            let _ = call(&mut store, &lanes, instance, name, value);
        }
        call(&mut store, &lanes, instance, "fib", 25).unwrap();
        recorder.finish("completed").unwrap();
        let read = read(&trace.bytes());
        let paths = read.paths();
        // catches; around, host; recurses
        let slept: [Vec<u32>; 3] = [vec![5], vec![9, 8], vec![10; 21]];
        for path in &slept {
            assert!(paths.contains_key(path), "{path:?} in {paths:?}");
        }
        // Nothing hangs below what doesn't call it, as it would if half of a path were an earlier one's.
        let calls: [(u32, &[u32]); 7] =
            [(1, &[0, 1]), (3, &[3]), (5, &[0, 3, 4]), (6, &[0, 6]), (7, &[6]), (9, &[8]), (10, &[10])];
        let calls = BTreeMap::from(calls);
        for path in paths.keys() {
            assert!([1, 5, 7, 8, 9, 10].contains(&path[0]), "{path:?}");
            for call in path.windows(2) {
                assert!(calls.get(&call[0]).is_some_and(|callees| callees.contains(&call[1])), "{path:?}");
            }
        }
        let (first, last) = (&read.windows[0], &read.windows[read.windows.len() - 1]);
        let ticks = |window: &Window| {
            window.nodes.iter().map(|node| node.self_ticks).sum::<u64>() + window.idle_ticks
        };
        assert!(read.windows.iter().map(ticks).sum::<u64>() <= last.end_ticks - first.start_ticks);
        assert!(read.windows.iter().map(|window| window.samples).sum::<u64>() >= paths.values().sum::<u64>());
        // In a short window the guest may only have waited.
        let running = |window: &Window| {
            let nodes = window.nodes.iter();
            nodes
                .filter(|node| ![WAITING, WAITING_FOR_PROCESSOR].contains(&node.func))
                .map(|node| node.self_ticks)
                .sum::<u64>()
        };
        assert!(
            read.windows
                .iter()
                .all(|window| window.cut == 0 && (window.squares > 0.0 || running(window) == 0))
        );
    }
}

#[test]
fn slow_calls_are_told_one_by_one() {
    let engine = engine();
    for probe in telling() {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        call(&mut store, &lanes, instance, "around", 7).unwrap();
        call(&mut store, &lanes, instance, "host", 1).unwrap();
        call(&mut store, &lanes, instance, "recurses", 2).unwrap();
        // Slow, and then it fails.
        call(&mut store, &lanes, instance, "around", -1).unwrap_err();
        recorder.finish("completed").unwrap();
        let [around, host, recurses] = [9, 8, 10].map(|func| Event::Enter(FuncId(100 + func)));
        let read = read(&trace.bytes());
        let failed = Event::Unwind { depth: 0, reason: Reason::Host };
        let (leave, two, three) = (Event::Leave, [recurses; 2], [Event::Leave; 3]);
        let expected =
            [&[around, host, leave, leave, recurses][..], &two, &three, &[around, host, failed]].concat();
        assert_eq!(read.spans(), expected);
        assert_eq!(read.calls[&(0, 108)], 3, "they are counted once");
    }
}

#[test]
fn calls_that_are_open_at_the_end_are_told_too() {
    let engine = engine();
    for probe in telling() {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        let (interrupting, looking) = (recorder.clone(), trace.clone());
        let thread = std::thread::spawn(move || {
            while progress(&looking, UNIX_EPOCH).0 < SAMPLES {
                std::thread::sleep(Duration::from_millis(5));
            }
            interrupting.interrupt("interrupted by SIGINT").unwrap()
        });
        call(&mut store, &lanes, instance, "around", 8).unwrap();
        thread.join().unwrap();
        let read = read(&trace.bytes());
        let [around, host] = [9, 8].map(|func| Event::Enter(FuncId(100 + func)));
        let interrupted = Event::Unwind { depth: 0, reason: Reason::Interrupted };
        assert_eq!(read.spans(), [around, host, interrupted]);
        assert_eq!(read.calls.values().sum::<u64>(), 2);
    }
}

#[test]
fn without_the_means_or_the_wish_no_call_is_told() {
    let engine = engine();
    for (spans, span_min) in [(false, Some(Duration::from_millis(1))), (true, None)] {
        let module = compile(&engine, GUEST, Recording::Profile { spans });
        let sampled = Sampling { span_min, ..Sampling::default() };
        let (recorder, trace) = sampling(&engine, |builder| builder.sampling(sampled));
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        call(&mut store, &lanes, instance, "around", 7).unwrap();
        recorder.finish("completed").unwrap();
        let read = read(&trace.bytes());
        assert_eq!(read.spans, []);
        assert!(read.paths().contains_key(&vec![9, 8]));
    }
}

#[test]
fn windows_follow_each_other_and_their_sum_is_the_whole() {
    let engine = engine();
    for probe in telling() {
        let module = compile(&engine, GUEST, probe);
        let every = Some(Duration::from_millis(10));
        let (recorder, trace) =
            sampling(&engine, |builder| builder.sampling(Sampling { every, ..Sampling::default() }));
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        for _ in 0..3 {
            call(&mut store, &lanes, instance, "recurses", 7).unwrap();
        }
        recorder.finish("completed").unwrap();
        let read = read(&trace.bytes());
        assert!(read.windows.len() > 3, "{}", read.windows.len());
        assert!(read.windows.windows(2).all(|pair| pair[0].end_ticks == pair[1].start_ticks));
        assert_eq!(read.calls, BTreeMap::from([((0, 110), 24)]));
        let counted: Vec<u64> =
            read.windows.iter().map(|window| window.calls.iter().map(|(_, calls)| calls).sum()).collect();
        assert!(counted.contains(&0), "a call counts where it begins: {counted:?}");
        // A call that lasts over several windows is told once.
        let enters = read.spans.iter().filter(|(_, event)| matches!(event, Event::Enter(_))).count();
        assert_eq!(enters, 24);
    }
}

#[test]
fn a_stack_deeper_than_the_memory_is_cut_and_nothing_traps() {
    // Frames of some 50 bytes: 200,000 of them are more than there are slots for.
    let depth = 200_000;
    let run = move || {
        let engine = engine_for_deep_stacks();
        let module = compile(&engine, GUEST, Recording::Profile { spans: true });
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        assert_eq!(call(&mut store, &lanes, instance, "recurses", depth), Ok(depth));
        assert_eq!(call(&mut store, &lanes, instance, "around", 7), Ok(7));
        recorder.finish("completed").unwrap();
        read(&trace.bytes())
    };
    let read = std::thread::Builder::new().stack_size(128 << 20).spawn(run).unwrap().join().unwrap();
    assert_eq!(read.calls[&(0, 110)], depth as u64 + 1);
    let cut: u64 = read.windows.iter().map(|window| window.cut).sum();
    assert!(cut > 0, "{:?}", read.windows.len());
    let around = read.windows.iter().find_map(|window| {
        let host = window.nodes.iter().find(|node| node.func == FuncId(108) && node.samples > 0)?;
        Some(&window.nodes[host.parent.unwrap() as usize])
    });
    let caller = around.expect("what comes behind it is seen");
    assert_eq!((caller.func, caller.parent), (FuncId(109), None), "in its place");
}

#[test]
fn a_start_section_is_counted_even_if_it_traps() {
    let engine = engine();
    let text =
        "(module (memory 1) (func $main (call $f)) (func $f (drop (i32.load (i32.const -1)))) (start $main))";
    for probe in telling() {
        let module = compile(&engine, text, probe);
        let (recorder, trace) = recorder(&engine);
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let lanes = link(&recorder, &mut store, &mut linker, &module, text);
        lanes.call(&mut store, |store| linker.instantiate(store, &module)).unwrap_err();
        assert_eq!(lanes.profiles(), 1);
        recorder.finish("trap").unwrap();
        assert_eq!(read(&trace.bytes()).calls, BTreeMap::from([((0, 100), 1), ((0, 101), 1)]));
    }
}

#[test]
fn what_is_counted_outlives_the_store_and_each_instance_is_a_lane() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::Profile { spans: true });
    let (recorder, trace) = recorder(&engine);
    let (mut store, lanes, instance) = instantiate(&recorder, &module, None);
    let (mut other, others, another) = instantiate(&recorder, &module, None);
    call(&mut store, &lanes, instance, "down", 9).unwrap();
    call(&mut other, &others, another, "host", 1).unwrap();
    drop((store, lanes));
    // Its number is free again.
    let (mut third, thirds, one_more) = instantiate(&recorder, &module, None);
    call(&mut third, &thirds, one_more, "host", 1).unwrap();
    recorder.finish("completed").unwrap();
    let expected = [((0, 100), 1), ((0, 102), 10), ((0, 108), 1), ((1, 108), 1)];
    assert_eq!(read(&trace.bytes()).calls, BTreeMap::from(expected));
}

#[test]
fn threads_that_share_a_memory_have_a_stack_each() {
    const THREADS: i32 = 4;
    const TURNS: u64 = 10_000;
    // They wait for each other, so that all run at the same time, and go on until the sampler has seen enough of them, which
    // on a busy machine takes as long as it takes. Odd ones take one path, even ones another.
    let text = r#"(module
        (import "env" "memory" (memory 1 1 shared))
        (import "env" "more" (func $more (result i32)))
        (func $add (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1))))
        (func $odd (call $add))
        (func $even (call $add))
        (func (export "thread") (param $n i32) (param $threads i32) (param $turns i32) (local $left i32)
          (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
          (loop $wait (br_if $wait (i32.lt_s (i32.atomic.load (i32.const 8)) (local.get $threads))))
          (loop $batch
            (local.set $left (local.get $turns))
            (loop $turn
              (if (i32.and (local.get $n) (i32.const 1)) (then (call $odd)) (else (call $even)))
              (br_if $turn (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
            (br_if $batch (call $more)))))"#;
    let engine = engine();
    let [add, odd, even, thread] = [100, 101, 102, 103].map(FuncId);
    for probe in profiles() {
        let module = compile(&engine, text, probe);
        let often = Sampling { every: Some(Duration::from_millis(10)), ..Sampling::default() };
        let (recorder, trace) = sampling(&engine, |builder| builder.sampling(often));
        let calls_made = Mutex::new(Vec::new());
        let shared = SharedMemory::new(&engine, MemoryType::shared(1, 1)).unwrap();
        std::thread::scope(|scope| {
            for n in 0..THREADS {
                let (recorder, module, shared, calls_made) = (&recorder, &module, &shared, &calls_made);
                let trace = trace.clone();
                scope.spawn(move || {
                    let mut store = Store::new(module.engine(), ());
                    let mut linker = Linker::new(module.engine());
                    let lanes = link(recorder, &mut store, &mut linker, module, text);
                    linker.define(&store, "env", "memory", shared.clone()).unwrap();
                    let batches = Arc::<AtomicU64>::default();
                    let counter = batches.clone();
                    let more = move || {
                        counter.fetch_add(1, Ordering::Relaxed);
                        i32::from(progress(&trace, UNIX_EPOCH).0 < SAMPLES)
                    };
                    linker.func_wrap("env", "more", more).unwrap();
                    let instance = linker.instantiate(&mut store, module).unwrap();
                    let f = instance.get_typed_func::<(i32, i32, i32), ()>(&mut store, "thread").unwrap();
                    lanes.call(&mut store, |store| f.call(store, (n, THREADS, TURNS as i32))).unwrap();
                    let way = if n % 2 == 1 { odd } else { even };
                    calls_made.lock().unwrap().push((way, batches.load(Ordering::Relaxed) * TURNS));
                });
            }
        });
        recorder.finish("completed").unwrap();
        let (bytes, mut lanes, mut samples) = (trace.bytes(), BTreeMap::new(), 0);
        let mut reader = TraceReader::new(&bytes[..]).unwrap();
        while let Some(item) = reader.next().unwrap() {
            let Item::Window(window) = item else { continue };
            let lane: &mut BTreeMap<FuncId, u64> = lanes.entry(window.recorder).or_default();
            window.calls.iter().for_each(|&(func, calls)| *lane.entry(func).or_default() += calls);
            samples += window.samples;
            // The only paths that this lane has.
            let way = if lane.contains_key(&odd) { odd } else { even };
            let is_call = |node: &&WindowNode| ![WAITING, WAITING_FOR_PROCESSOR].contains(&node.func);
            for node in window.nodes.iter().filter(is_call) {
                let parent = node.parent.map(|parent| window.nodes[parent as usize].func);
                let paths = [(None, thread), (Some(thread), way), (Some(way), add)];
                assert!(paths.contains(&(parent, node.func)), "{parent:?} calls {:?}", node.func);
            }
        }
        let mut expected = calls_made.into_inner().unwrap();
        expected.sort();
        let mut found = Vec::new();
        for calls in lanes.values() {
            let way = if calls.contains_key(&odd) { odd } else { even };
            let turns = calls[&way];
            assert_eq!(*calls, BTreeMap::from([(add, turns), (way, turns), (thread, 1)]));
            found.push((way, turns));
        }
        found.sort();
        assert_eq!(found, expected);
        assert!(samples >= SAMPLES, "{samples} samples");
    }
}

#[test]
fn a_profile_is_switched_off_and_on() {
    let engine = engine();
    for probe in telling() {
        let module = compile(&engine, GUEST, probe);
        // No call is as slow as that, wherever it waits for a processor.
        let sampled = Sampling { span_min: Some(Duration::from_secs(60)), ..Sampling::default() };
        let (recorder, trace) = sampling(&engine, |builder| builder.sampling(sampled));
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        for (on, value) in [(true, 1), (false, 2), (true, 1), (true, 1), (false, 1)] {
            lanes.set_recording(&mut store, on);
            call(&mut store, &lanes, instance, "host", value).unwrap();
        }
        recorder.finish("completed").unwrap();
        let read = read(&trace.bytes());
        assert_eq!(read.calls, BTreeMap::from([((0, 108), 3)]));
        assert_eq!(read.spans, []);
    }
}

/// A call that is dropped halfway leaves nothing open.
#[test]
fn a_future_that_is_dropped_leaves_no_call_behind() {
    let engine = engine();
    for probe in telling() {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        begin_and_drop(lanes.call_async(&mut store, async |_| pending::<wasmtime::Result<()>>().await));
        call(&mut store, &lanes, instance, "around", 7).unwrap();
        recorder.finish("completed").unwrap();
        let roots: BTreeSet<u32> = read(&trace.bytes()).paths().keys().map(|path| path[0]).collect();
        assert_eq!(roots, BTreeSet::from([9]));
    }
}

/// Nor does one within a call that fails then.
#[test]
fn a_future_that_is_dropped_in_a_call_that_fails_is_not_come_back_to() {
    let engine = engine();
    for probe in profiles() {
        let module = compile(&engine, GUEST, probe);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
        call(&mut store, &lanes, instance, "around", DROPS).unwrap_err();
        call(&mut store, &lanes, instance, "recurses", 2).unwrap();
        recorder.finish("completed").unwrap();
        let paths = read(&trace.bytes()).paths();
        assert!(paths.contains_key(&vec![10; 3]), "{probe:?}: {paths:?}");
    }
}

#[test]
fn a_module_that_only_claims_to_make_a_profile_is_an_error() {
    let engine = engine();
    let text = r#"(module (import "kperf:host" "flush" (func $flush (param i32 i32)))
        (memory (export "kperf.memory") 16 16 shared)
        (global (export "kperf.state.top") (mut i32) (i32.const 64))
        (global (export "kperf.state.id_base") i32 (i32.const 0))
        (global (export "kperf.state.functions") i32 (i32.const 1))
        (func $main (call $flush (i32.const 0) (i32.const 0))) (start $main))"#;
    let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
    let (recorder, _) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    recorder.link_inlined(&mut store, &mut linker).unwrap();
    let error = linker.instantiate(&mut store, &module).unwrap_err();
    assert_eq!(error.root_cause().to_string(), "the recorder's memory is too small");
}
