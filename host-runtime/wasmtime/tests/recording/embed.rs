//! The examples that the documentation shows, run.

#[allow(dead_code)]
#[path = "../../../../examples/embed-wasmtime/main.rs"]
mod example;
#[allow(dead_code)]
#[path = "../../../../examples/instrument-wasmtime/main.rs"]
mod instrument;

#[test]
fn the_example_records_a_command_that_exits() {
    let directory = tempfile::tempdir().unwrap();
    let [module, trace] =
        ["probed.wasm", "trace.kperf"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    let guest = crate::common::probed(
        r#"(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
           (memory (export "memory") 1)
           (func $f (local $t i32) (ENTER 1) (LEAVE))
           (func (export "_start") (local $t i32) (ENTER 0) (call $f) (call $exit (i32.const 3)) (LEAVE))"#,
    );
    std::fs::write(&module, wat::parse_str(guest).unwrap()).unwrap();
    example::record(&module, &trace).unwrap();
    let text = crate::common::text(&std::fs::read(&trace).unwrap());
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
    let lines = include_str!("../../../../examples/embed-wasmtime/main.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
}

#[test]
fn the_host_with_two_more_lines_records_a_published_command() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("life.kperf").to_str().unwrap().to_owned();
    let life = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/game-of-life/c/life.wasm");
    instrument::run(life, &trace, &["5".into()]).unwrap();
    let bytes = std::fs::read(&trace).unwrap();
    let mut names = Vec::new();
    let mut reader = kperf_trace::TraceReader::new(&bytes[..]).unwrap();
    let mut base = 0;
    let mut checks = 0;
    while let Some(item) = reader.next().unwrap() {
        match item {
            kperf_trace::Item::Symbols(table) => {
                let table = kperf_abi::SymbolTable::from_bytes(table).unwrap();
                base = table.id_base;
                names = table.symbols.iter().map(|symbol| symbol.display_name().to_owned()).collect();
            }
            kperf_trace::Item::Events(batch) => {
                let called = batch.events.iter().filter_map(|timed| match timed.event {
                    kperf_trace::Event::Enter(id) => names.get((id.0 - base) as usize),
                    _ => None,
                });
                checks += called.filter(|name| *name == "isValidPosition").count();
            }
            _ => {}
        }
    }
    assert_eq!(checks, 16_000);
}
