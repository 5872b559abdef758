//! What is different on native stacks.

use super::guest::*;
use crate::common::exits::{GUEST, compile, engine, table};
use crate::common::{Memory, recorder, recorder_with};
use kperf_rewriter::{Options, Recording, rewrite};
use kperf_trace::{Event, FuncId, Item, TraceReader};
use std::time::{Duration, UNIX_EPOCH};
use wasmtime::{Caller, Linker, Module, Store};

/// Why a guest that is instantiated like this has counts only. Its call is counted all the same.
fn reason(
    text: &str,
    prepare: impl FnOnce(&kperf_wasmtime::Recorder, &mut Store<()>, &mut Linker<()>, &Module),
) -> String {
    let engine = engine();
    let module = compile(&engine, text, Recording::Count);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = told.clone();
    let (recorder, trace) = recorder_with(&engine, |builder| {
        builder.on_notice(move |notice| tell.lock().unwrap().push(notice.to_string()))
    });
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    prepare(&recorder, &mut store, &mut linker, &module);
    let instance = linker.instantiate(&mut store, &module).unwrap();
    instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap();
    drop(store);
    let notes = recorder.finish("completed").unwrap().notes;
    assert!(trace.text().contains("0 samples, 0 paths, calls [(100, 1)]"), "{}", trace.text());
    let told = told.lock().unwrap();
    assert_eq!((notes.len(), told.len()), (1, 1), "{notes:?}");
    let reason = told[0].strip_prefix("calls are counted, without times: ").unwrap();
    assert!(notes[0].ends_with(reason), "{notes:?}");
    reason.to_owned()
}

#[test]
fn what_a_stack_doesn_t_tell_is_counted() {
    let text = "(module (func (export \"f\")))";
    let unknown = reason(text, |recorder, store, linker, _| {
        recorder.link_inlined(store, linker).unwrap();
    });
    assert!(unknown.contains("say `Recorder::native_code` before"), "{unknown}");
    let twice = reason(text, |recorder, store, linker, module| {
        for _ in 0..2 {
            recorder.native_code(module, &table(text, Recording::Count)).unwrap();
        }
        recorder.link_inlined(&mut *store, linker).unwrap();
        linker.instantiate(store, module).unwrap();
    });
    assert!(twice.contains("two instances of a module at a time"), "{twice}");
    let engine = engine();
    let (recorder, _) = recorder(&engine);
    let error = recorder.native_code(&compile(&engine, text, Recording::Count), b"no table").unwrap_err();
    assert_eq!(error.to_string(), "a module's symbols can't be read");
}

#[test]
fn one_instance_after_the_other_is_a_lane() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::Count);
    let (recorder, trace) = recorder(&engine);
    for _ in 0..3 {
        let (mut store, lanes, instance) = instantiate(&recorder, &module, None);
        call(&mut store, &lanes, instance, "down", 9).unwrap();
    }
    recorder.finish("completed").unwrap();
    assert_eq!(read(&trace.bytes()).calls[&(0, 102)], 30);
}

#[test]
fn counts_of_a_module_s_own_need_a_store_that_ends_them() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::OwnCount);
    let (recorder, trace) = recorder(&engine);
    recorder.native_code(&module, &table(GUEST, Recording::OwnCount)).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "h", |_: i32| ()).unwrap();
    let mut kept = recorder.recorded_store(Store::new(&engine, ())).unwrap();
    let lanes = kept.link_inlined(&mut linker).unwrap();
    let instance = linker.instantiate(&mut kept, &module).unwrap();
    let down = instance.get_typed_func::<i32, i32>(&mut kept, "down").unwrap();
    lanes.call(&mut kept, |store| down.call(store, 9)).unwrap();
    assert_eq!(lanes.profiles(), 1);
    // Whoever has the lanes has nothing to read after the store.
    drop(kept);
    lanes.set_recording(Store::new(&engine, ()), false);
    let mut other = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "h", |_: i32| ()).unwrap();
    recorder.link_inlined(&mut other, &mut linker).unwrap();
    let error = linker.instantiate(&mut other, &module).unwrap_err();
    assert!(format!("{error:?}").contains("`RecordedStore::link_inlined`"), "{error:?}");
    let summary = recorder.finish("completed").unwrap();
    assert_eq!(read(&trace.bytes()).calls[&(0, 102)], 10);
    assert_eq!(summary.count_nanos, Some(0.3));
}

/// Modules that only claim to have counts in globals: with a function of the host's, and with one of a module that has them.
#[test]
fn counts_are_looked_for_only_in_the_instance_that_has_them() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::OwnCount);
    let (recorder, _) = recorder(&engine);
    recorder.native_code(&module, &table(GUEST, Recording::OwnCount)).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "h", |_: i32| ()).unwrap();
    let mut store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
    store.link_inlined(&mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    linker.instance(&mut store, "whole", instance).unwrap();
    for (import, ty) in [(r#""host" "h""#, "(param i32)"), (r#""whole" "kperf.start""#, "")] {
        let claims = format!(
            r#"(module
                 (import {import} (func $start {ty}))
                 (import "kperf:host" "flush" (func $flush (param i32 i32)))
                 (global (export "kperf.state.id_base") i32 (i32.const 100))
                 (global (export "kperf.state.functions") i32 (i32.const 1000000))
                 (export "kperf.start" (func $start))
                 (func $begin (call $flush (i32.const 64) (i32.const 0)))
                 (start $begin))"#
        );
        let claims = Module::new(&engine, wat::parse_str(claims).unwrap()).unwrap();
        let error = linker.instantiate(&mut store, &claims).unwrap_err();
        assert!(format!("{error:?}").contains("keeps globals in another way"), "{error:?}");
    }
}

#[test]
fn asynchronous_calls_have_no_such_stack() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::Count);
    let (recorder, _) = recorder(&engine);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    recorder.native_code(&module, &table(GUEST, Recording::Count)).unwrap();
    recorder.link_inlined(&mut store, &mut linker).unwrap();
    linker.func_wrap("host", "h", |_: i32| ()).unwrap();
    futures(linker.instantiate_async(&mut store, &module)).unwrap();
    let notes = recorder.finish("completed").unwrap().notes;
    assert!(notes[0].contains("a stack of its own"), "{notes:?}");
}

/// Runs a future that waits for nothing.
fn futures<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// Between the two is the host, whose frames say how they are left.
#[test]
fn calls_inside_of_the_host_s_calls_are_seen_as_one_stack() {
    let engine = engine();
    let text = r#"(module
        (import "host" "again" (func $again))
        (import "host" "rest" (func $rest))
        (func $outer (export "outer") (call $again))
        (func $inner (export "inner") (call $rest)))"#;
    for imports in [false, true] {
        let options = Options { recording: Recording::Count, imports, id_base: 100, ..Options::default() };
        let rewritten = rewrite(&wat::parse_str(text).unwrap(), &options).unwrap();
        let module = Module::new(&engine, rewritten.wasm).unwrap();
        let (recorder, trace) = sampling(&engine, |builder| builder);
        recorder.native_code(&module, &rewritten.symbols.to_bytes()).unwrap();
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
        let (looking, flushed) = (trace.clone(), lanes.clone());
        let rest = move |mut caller: Caller<'_, ()>| {
            while progress(&looking, UNIX_EPOCH).0 < SAMPLES {
                std::thread::sleep(Duration::from_millis(20));
                flushed.flush(&mut caller);
            }
        };
        linker.func_wrap("host", "rest", rest).unwrap();
        let again = |mut caller: Caller<'_, ()>| -> wasmtime::Result<()> {
            let inner = caller.get_export("inner").and_then(wasmtime::Extern::into_func).unwrap();
            inner.typed::<(), ()>(&caller)?.call(&mut caller, ())
        };
        linker.func_wrap("host", "again", again).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let outer = instance.get_typed_func::<(), ()>(&mut store, "outer").unwrap();
        lanes.call(&mut store, |store| outer.call(store, ())).unwrap();
        recorder.finish("completed").unwrap();
        let read = read(&trace.bytes());
        // With the host's functions: again, rest, outer, inner.
        let path: &[u32] = if imports { &[2, 0, 3, 1] } else { &[0, 1] };
        assert!(read.paths().get(path).is_some_and(|&samples| samples >= SAMPLES / 2), "{:?}", read.paths());
        let told = path.iter().map(|func| Event::Enter(FuncId(100 + func)));
        let left = path.iter().map(|_| Event::Leave);
        assert_eq!(read.spans(), told.chain(left).collect::<Vec<_>>());
    }
}

/// A function that calls itself again and again: which of its calls are the same nobody knows, so none is told. Others are.
#[test]
fn calls_that_have_called_themselves_since_are_not_told() {
    let engine = engine();
    let module = compile(&engine, GUEST, Recording::Count);
    let (recorder, trace) = sampling(&engine, |builder| builder);
    let (mut store, lanes, instance) = instantiate(&recorder, &module, Some(&trace));
    let mut least = 20;
    while progress(&trace, UNIX_EPOCH).0 < SAMPLES {
        call(&mut store, &lanes, instance, "fib", least).unwrap();
        lanes.flush(&mut store);
        least += 1;
    }
    let long = 20;
    for _ in 0..long {
        call(&mut store, &lanes, instance, "fib", least.max(27)).unwrap();
    }
    call(&mut store, &lanes, instance, "around", 7).unwrap();
    recorder.finish("completed").unwrap();
    let read = read(&trace.bytes());
    let spans = read.spans();
    let [around, host] = [9, 8].map(|func| Event::Enter(FuncId(100 + func)));
    assert!(spans.ends_with(&[around, host, Event::Leave, Event::Leave]), "{spans:?}");
    // One that waits for a processor between two samples is told, and rightly.
    let (mut depth, mut told) = (0, 0);
    for event in &spans {
        let is_enter = matches!(event, Event::Enter(_));
        told += i32::from(is_enter && depth == 0);
        depth += if is_enter { 1 } else { -1 };
    }
    assert!(told - 1 < long / 2, "{spans:?}");
    // All of `fib`'s time is there, in itself and the leaf.
    let deepest = read.paths().keys().map(Vec::len).max().unwrap();
    assert!((5..40).contains(&deepest), "{deepest}");
}

/// How many samples the trace has so far that saw nothing.
fn torn(trace: &Memory) -> u64 {
    let bytes = trace.bytes();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut torn = 0;
    while let Some(item) = reader.next().unwrap() {
        if let Item::Window(window) = item {
            torn += window.torn;
        }
    }
    torn
}

/// A stack that has no room among the samples is counted as not seen, and breaks nothing.
#[test]
fn a_stack_too_deep_for_a_sample_is_told() {
    let depth = 100_000;
    let run = move || {
        let engine = engine_for_deep_stacks();
        let module = compile(&engine, GUEST, Recording::Count);
        let (recorder, trace) = sampling(&engine, |builder| builder);
        let (mut store, lanes, instance) = instantiate(&recorder, &module, None);
        loop {
            assert_eq!(call(&mut store, &lanes, instance, "recurses", depth), Ok(depth));
            lanes.flush(&mut store);
            if torn(&trace) > 0 {
                break;
            }
        }
        recorder.finish("completed").unwrap();
        read(&trace.bytes())
    };
    let read = std::thread::Builder::new().stack_size(128 << 20).spawn(run).unwrap().join().unwrap();
    let calls = read.calls[&(0, 110)];
    assert!(calls > 0 && calls.is_multiple_of(depth as u64 + 1), "{calls}");
}
