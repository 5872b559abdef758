//! What the tests share: guests, a sink that stays readable, and a trace as text.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod exits;

use kperf_abi::word::MAX_FUNC_ID;
use kperf_trace::{CallParent, Event, Item, Summary, TraceReader};
use kperf_wasmtime::{Builder, ClockChoice, Recorder};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use wasmtime::{Caller, Config, Engine, Linker, Module, Store};

/// A sink whose bytes can be looked at.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    /// The trace as text.
    pub fn text(&self) -> String {
        text(&self.bytes())
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An engine that can run the recorder module.
pub fn engine() -> Engine {
    engine_with(|_| {})
}

pub fn engine_with(configure: impl FnOnce(&mut Config)) -> Engine {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    configure(&mut config);
    Engine::new(&config).unwrap()
}

/// A recorder with the test clock, and what it wrote.
pub fn recorder(engine: &Engine) -> (Recorder, Memory) {
    recorder_with(engine, |builder| builder)
}

pub fn recorder_with(engine: &Engine, describe: impl FnOnce(Builder) -> Builder) -> (Recorder, Memory) {
    let memory = Memory::default();
    let builder = Recorder::builder().clock(ClockChoice::Test).sink(memory.clone());
    (describe(builder).build(engine).unwrap(), memory)
}

/// A module from text, with the probe's imports put in front and these abbreviations: `ENTER n` at the front of a function
/// whose first local is the token, `LEAVE` at its end.
pub fn module(engine: &Engine, text: &str) -> Module {
    Module::new(engine, wat::parse_str(probed(text)).unwrap()).unwrap()
}

pub fn probed(text: &str) -> String {
    let mut out = String::from(
        r#"(module
          (import "kperf" "enter" (func $enter (param i32) (result i32)))
          (import "kperf" "leave" (func $leave (param i32)))
          (import "kperf" "unwind" (func $unwind (param i32)))
        "#,
    );
    let mut rest = text;
    while let Some(at) = rest.find("(ENTER ") {
        let (before, after) = rest.split_at(at);
        let id: String = after["(ENTER ".len()..].chars().take_while(char::is_ascii_digit).collect();
        write!(out, "{before}(local.set $t (call $enter (i32.const {id})))").unwrap();
        rest = &after["(ENTER ".len() + id.len() + 1..];
    }
    out += rest;
    out = out.replace("(LEAVE)", "(call $leave (local.get $t))");
    out + ")"
}

/// The events of a trace, a line each: lane, time in microseconds, event. Then anomalies, stalls by kind, and the end.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut reader = TraceReader::new(bytes).unwrap();
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Symbols(table) => writeln!(out, "symbols {}", table.len()).unwrap(),
            Item::Parent(CallParent { recorder, stack, context }) => {
                let stack = stack.map_or("*".into(), |stack| stack.to_string());
                let context = context
                    .as_ref()
                    .map_or("none".into(), |context| format!("{} {}", context.traceparent(), context.state));
                writeln!(out, "{recorder}.{stack} parent {}", context.trim_end()).unwrap();
            }
            // A long run has some, at moments of their own.
            Item::Anchor(_) => {}
            Item::Stall(stall) => writeln!(out, "stall {:?}", stall.kind).unwrap(),
            Item::End(summary) => writeln!(
                out,
                "end @{} {}: {} events, {} blocks, {} dropped, {} recorders",
                summary.end_ticks / 1000,
                summary.outcome,
                summary.events,
                summary.blocks,
                summary.dropped_events,
                summary.recorders
            )
            .unwrap(),
            Item::Window(window) => writeln!(
                out,
                "{} profile: {} samples, {} paths, calls {:?}",
                window.recorder,
                window.samples,
                window.nodes.len(),
                window.calls.iter().map(|(func, calls)| (func.0, *calls)).collect::<Vec<_>>()
            )
            .unwrap(),
            Item::Events(batch) | Item::Spans(batch) => {
                for timed in batch.events {
                    let event = match timed.event {
                        // Where the machine does other things, the kernel puts the thread aside.
                        Event::Wait(_) => continue,
                        Event::Enter(id) if id.0 == MAX_FUNC_ID - 1 => "enter [suspended]".into(),
                        Event::Enter(id) => format!("enter {}", id.0),
                        Event::Leave => "leave".into(),
                        Event::Unwind { depth, reason } => format!("unwind to {depth}, {}", reason.as_str()),
                        Event::Mark(value) => format!("mark {value}"),
                        Event::Memory(word) => format!("memory {word:#x}"),
                        Event::Pause(paused) => format!("pause {paused}"),
                        Event::Lost { events } => format!("lost {events:?}"),
                    };
                    writeln!(out, "{} @{} {event}", batch.lane, timed.ticks / 1000).unwrap();
                }
            }
        }
    }
    for anomaly in reader.anomalies() {
        writeln!(out, "anomaly: {anomaly}").unwrap();
    }
    out
}

/// How many events of a kind a trace has.
pub fn count(bytes: &[u8], is_counted: impl Fn(&Event) -> bool) -> usize {
    let mut reader = TraceReader::new(bytes).unwrap();
    let mut events = 0;
    while let Some(item) = reader.next().unwrap() {
        if let Item::Events(batch) = item {
            // Pauses and waits are no events.
            let is_event = |event: &Event| !matches!(event, Event::Pause(_) | Event::Wait(_));
            let events_of = batch.events.iter().filter(|timed| is_event(&timed.event));
            events += events_of.filter(|timed| is_counted(&timed.event)).count();
        }
    }
    assert_eq!(reader.anomalies(), [], "the trace is whole");
    events
}

/// The outermost calls of a trace with one lane: how many, and how long they took together, in nanoseconds.
pub fn outermost(bytes: &[u8]) -> (u32, f64) {
    let mut reader = TraceReader::new(bytes).unwrap();
    let (mut depth, mut calls, mut begun, mut ticks) = (0, 0, 0, 0);
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        for timed in batch.events {
            match (timed.event, depth) {
                (Event::Enter(_), 0) => (depth, begun) = (1, timed.ticks),
                (Event::Enter(_), _) => depth += 1,
                (Event::Leave, 1) => (depth, calls, ticks) = (0, calls + 1, ticks + timed.ticks - begun),
                (Event::Leave, _) => depth -= 1,
                _ => {}
            }
        }
    }
    assert_eq!(reader.anomalies(), [], "the trace is whole");
    (calls, ticks as f64 / reader.header().clock.ticks_per_second * 1e9)
}

/// How a recording ended.
pub fn summary(bytes: &[u8]) -> Summary {
    let mut reader = TraceReader::new(bytes).unwrap();
    while reader.next().unwrap().is_some() {}
    reader.summary().unwrap().clone()
}

/// Compares texts line by line, without indentation.
#[track_caller]
pub fn assert_text(actual: &str, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(actual), lines(expected), "\n{actual}");
}

/// Drives a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// `many(n)` calls a function n times, `open` calls `host.h` with two frames open.
pub const GUEST: &str = r#"
    (import "host" "h" (func $h))
    (func $f (local $t i32) (ENTER 1) (LEAVE))
    (func (export "many") (param i32)
      (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
    (func $g (local $t i32) (ENTER 1) (call $h) (LEAVE))
    (func (export "open") (local $t i32) (ENTER 0) (call $g) (LEAVE))"#;

/// Calls an export of the guest in a store that is gone afterwards.
pub fn run(
    recorder: &Recorder,
    engine: &Engine,
    name: &str,
    calls: Option<u32>,
    h: impl Fn() + Send + Sync + 'static,
) {
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    linker.func_wrap("host", "h", move |_: Caller<'_, ()>| h()).unwrap();
    let instance = linker.instantiate(&mut store, &module(engine, GUEST)).unwrap();
    lane.call(&mut store, |store| match calls {
        Some(calls) => instance.get_typed_func::<u32, ()>(&mut *store, name)?.call(store, calls),
        None => instance.get_typed_func::<(), ()>(&mut *store, name)?.call(store, ()),
    })
    .unwrap();
}
