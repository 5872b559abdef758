//! Modules that count their instructions, which are the clock then.

use crate::common::{Memory, engine};
use kperf_rewriter::{Clock, Inline, Options, Recording, rewrite};
use kperf_trace::{ClockKind, Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, Recorder, counts_instructions};
use wasmtime::{Engine, Linker, Module, Store};

const GUEST: &str = r#"(module
    (memory 1)
    (func $work (param i32) (result i32)
      (loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
      (local.get 0))
    (func $fails (if (call $work (i32.const 2)) (then) (else (unreachable))) (drop (i32.const 1)))
    (func $loads (drop (call $work (i32.const 1))) (drop (i32.load (i32.const -4))))
    (func (export "fails") (call $fails))
    (func (export "loads") (call $loads))
    (func (export "works") (drop (call $work (i32.const 10)))))"#;

fn rewritten(engine: &Engine, clock: Clock) -> Module {
    let recording = Recording::Inline(Inline { clock, ..Inline::default() });
    let options = Options { recording, ..Options::default() };
    let rewritten = rewrite(&wat::parse_str(GUEST).unwrap(), &options).unwrap();
    Module::new(engine, rewritten.wasm).unwrap()
}

fn recorder(engine: &Engine, clock: ClockChoice) -> (Recorder, Memory) {
    let memory = Memory::default();
    (Recorder::builder().clock(clock).sink(memory.clone()).build(engine).unwrap(), memory)
}

/// The events and their times.
fn events(trace: &[u8]) -> Vec<(u64, String)> {
    let mut reader = TraceReader::new(trace).unwrap();
    assert_eq!(reader.header().clock.kind, ClockKind::Instructions);
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        events.extend(batch.events.iter().map(|timed| {
            let event = match timed.event {
                Event::Enter(id) => format!("enter {}", id.0),
                Event::Leave => "leave".to_owned(),
                Event::Unwind { .. } => "unwind".to_owned(),
                other => format!("{other:?}"),
            };
            (timed.ticks, event)
        }));
    }
    events
}

#[test]
fn events_have_the_number_of_instructions_wherever_a_call_ends() {
    let engine = engine();
    let module = rewritten(&engine, Clock::Instructions);
    assert!(counts_instructions(&module));
    let (recorder, memory) = recorder(&engine, ClockChoice::Instructions);
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    for (name, works) in [("works", true), ("fails", false), ("loads", false), ("works", true)] {
        let function = instance.get_typed_func::<(), ()>(&mut store, name).unwrap();
        assert_eq!(lanes.call(&mut store, |store| function.call(store, ())).is_ok(), works);
    }
    let summary = recorder.finish("completed").unwrap();
    assert!(summary.probe_cost.is_none());
    // A round of the loop is five, what is behind it one. Of what traps the last instruction is counted.
    let [works, fails, loads, again] = [
        [(0, "enter 5"), (2, "enter 0"), (53, "leave"), (53, "leave")].as_slice(),
        &[(53, "enter 3"), (54, "enter 1"), (56, "enter 0"), (67, "leave"), (68, "unwind")],
        &[(68, "enter 4"), (69, "enter 2"), (71, "enter 0"), (77, "leave"), (79, "unwind")],
        &[(79, "enter 5"), (81, "enter 0"), (132, "leave"), (132, "leave")],
    ];
    let wanted = [works, fails, loads, again].concat();
    assert_eq!(
        events(&memory.bytes()),
        wanted.iter().map(|&(ticks, event)| (ticks, event.to_owned())).collect::<Vec<_>>()
    );
}

#[test]
fn a_module_and_a_recording_with_different_clocks_are_refused() {
    let engine = engine();
    let counts = Clock::Instructions;
    for (clock, choice, wanted) in [
        (counts, ClockChoice::Test, "the guest counts its instructions"),
        (Clock::Host, ClockChoice::Instructions, "the guest doesn't count its instructions"),
    ] {
        let module = rewritten(&engine, clock);
        let (recorder, _) = recorder(&engine, choice);
        let mut store = Store::new(&engine, ());
        let mut linker = Linker::new(&engine);
        let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let works = instance.get_typed_func::<(), ()>(&mut store, "works").unwrap();
        let error = lanes.call(&mut store, |store| works.call(store, ())).unwrap_err();
        assert!(error.root_cause().to_string().starts_with(wanted), "{error:?}");
    }
    let (recorder, _) = recorder(&engine, ClockChoice::Instructions);
    let error = recorder.link(&mut Store::new(&engine, ()), &mut Linker::new(&engine)).err().unwrap();
    assert!(error.to_string().starts_with("instructions are counted inside of modules"), "{error}");
}
