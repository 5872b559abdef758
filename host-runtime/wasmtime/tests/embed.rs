//! The example that the documentation shows, run.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[allow(dead_code)]
#[path = "../../../examples/embed-wasmtime/main.rs"]
mod example;

#[test]
fn the_example_records_a_command_that_exits() {
    let directory = tempfile::tempdir().unwrap();
    let [module, trace] =
        ["probed.wasm", "trace.kperf"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    let guest = common::probed(
        r#"(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
           (memory (export "memory") 1)
           (func $f (local $t i32) (ENTER 1) (LEAVE))
           (func (export "_start") (local $t i32) (ENTER 0) (call $f) (call $exit (i32.const 3)) (LEAVE))"#,
    );
    std::fs::write(&module, wat::parse_str(guest).unwrap()).unwrap();
    example::record(&module, &trace).unwrap();
    let text = common::text(&std::fs::read(&trace).unwrap());
    let events: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let events: Vec<&str> = events.iter().map(|event| event.split_once(' ').unwrap().1).collect();
    assert_eq!(
        events,
        [
            "enter 0",
            "enter 1",
            "leave",
            "unwind to 0, exit",
            "exited: 4 events, 1 blocks, 0 dropped, 1 recorders"
        ]
    );
    let lines = include_str!("../../../examples/embed-wasmtime/main.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
}
