//! Samples of profiles that link to spans, as a real Collector has understood them.

use super::profiles::{CONFIG_PORTS, config, entry, list};
use super::server::{self, Ports, Server};
use super::support::{kperf, stderr};
use kperf_trace::block::BlockHeader;
use kperf_trace::word::Word;
use kperf_trace::{
    CallParent, FuncId, Header, SpanLink, Summary, TraceContext, TraceWriter, Window, WindowNode,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn context(n: u64) -> TraceContext {
    TraceContext::parse(&format!("00-{TRACE}-{n:016x}-01"), "").unwrap()
}

fn block(start_ticks: u64, words: &[Word]) -> Vec<u8> {
    let mut bytes = BlockHeader { start_ticks, ..BlockHeader::default() }.to_bytes().to_vec();
    bytes.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
    bytes
}

/// Names for three functions.
fn symbols() -> Vec<u8> {
    let symbol =
        |id, name: &str| kperf_abi::Symbol { id: FuncId(id), name: name.into(), ..Default::default() };
    let symbols = vec![symbol(0, "main"), symbol(1, "step"), symbol(2, "überall")];
    kperf_abi::SymbolTable { symbols, ..Default::default() }.to_bytes()
}

/// A trace whose calls have three parents, one of them the run's.
fn of_calls(path: &Path) {
    let header = Header { parent: Some(context(5)), ..Header::default() };
    let mut writer = TraceWriter::new(fs::File::create(path).unwrap(), &header).unwrap();
    writer.symbols(&symbols()).unwrap();
    let calls = |ticks| {
        [Word::Enter(0), Word::Time(ticks), Word::Enter(1), Word::Time(2 * ticks), Word::Leave, Word::Leave]
    };
    for (start, ticks, parent) in
        [(0, 100, None), (10_000, 1_000, Some(7)), (20_000, 10_000, Some(8)), (60_000, 3_000, Some(7))]
    {
        let context = parent.map(context);
        writer.parent(&CallParent { recorder: 0, stack: None, context }).unwrap();
        writer.block(0, &block(start, &calls(ticks))).unwrap();
    }
    writer.finish(&Summary::default()).unwrap();
}

/// A profile: a request in an instance of its own, and calls that are nobody's.
fn of_windows(path: &Path) {
    let node = |parent, func, self_ticks| WindowNode { parent, func: FuncId(func), samples: 1, self_ticks };
    let window = |recorder, parent: Option<u64>, nodes, calls: &[(u32, u64)]| Window {
        recorder,
        end_ticks: 50_000_000,
        samples: 2,
        nodes,
        calls: calls.iter().map(|&(func, calls)| (FuncId(func), calls)).collect(),
        parent: parent.map(|n| SpanLink::from(&context(n))),
        ..Window::default()
    };
    let mut writer = TraceWriter::new(fs::File::create(path).unwrap(), &Header::default()).unwrap();
    writer.symbols(&symbols()).unwrap();
    let request = vec![node(None, 0, 1_000_000), node(Some(0), 1, 2_000_000), node(Some(1), 2, 4_000_000)];
    writer.window(&window(0, Some(9), request, &[(0, 1), (1, 1), (2, 50)])).unwrap();
    writer.window(&window(1, None, vec![node(None, 0, 8_000_000)], &[(0, 3)])).unwrap();
    writer.finish(&Summary::default()).unwrap();
}

/// Each sample's value by its kind, the span that it links to and its path. Every index is looked at.
fn linked(data: &Value) -> BTreeMap<String, i64> {
    let dictionary = &data["dictionary"];
    let string = |index: &Value| entry(dictionary, "stringTable", index).as_str().unwrap().to_owned();
    let mut values = BTreeMap::new();
    for profile in list(&data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]) {
        let kind = string(&profile["sampleType"]["typeStrindex"]);
        for sample in list(&profile["samples"]) {
            let name = |location: &Value| {
                let location = entry(dictionary, "locationTable", location);
                let function = entry(dictionary, "functionTable", &location["lines"][0]["functionIndex"]);
                string(&function["nameStrindex"])
            };
            let stack = entry(dictionary, "stackTable", &sample["stackIndex"]);
            let path: Vec<String> = list(&stack["locationIndices"]).iter().rev().map(name).collect();
            let link = entry(dictionary, "linkTable", &sample["linkIndex"]);
            let id = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
            let span = id("spanId");
            let is_none = span.bytes().all(|digit| digit == b'0');
            assert!(is_none || id("traceId").len() == 32, "{link}");
            let span = if is_none { "none".to_owned() } else { span };
            let value = sample["values"][0].as_str().unwrap().parse().unwrap();
            let before = values.insert(format!("{kind} {span} {}", path.join(";")), value);
            assert_eq!(before, None, "a path of a span comes once");
        }
    }
    values
}

#[test]
fn the_collector_understands_links() {
    let Some(binary) = server::binary("collector", true) else { return };
    let folder = tempfile::tempdir().unwrap();
    let ports = Ports::<CONFIG_PORTS>::free();
    let [http, grpc, health] = ports.numbers;
    let gate = ["--feature-gates=+service.profilesSupport"];
    let url = format!("http://127.0.0.1:{health}/");
    let collector = Server::start_with(&binary, &gate, folder.path(), &config(ports.numbers), &url);
    let traces = tempfile::tempdir().unwrap();
    of_calls(&traces.path().join("calls.kperf"));
    of_windows(&traces.path().join("windows.kperf"));
    let run = |args: &[&str]| {
        let output = kperf(traces.path(), args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    let mut ours = Vec::new();
    for (trace, port, protocol) in [
        ("calls.kperf", http, "http/protobuf"),
        ("calls.kperf", grpc, "grpc"),
        ("windows.kperf", http, "http/protobuf"),
    ] {
        run(&["export", trace, "--profiles", "--format", "otlp-json", "-o", "ours.json"]);
        let text = fs::read_to_string(traces.path().join("ours.json")).unwrap();
        ours.push(linked(&serde_json::from_str(&text).unwrap()));
        let endpoint = format!("http://127.0.0.1:{port}");
        // Spans too: the Collector of this test refuses them, so they have a request of their own.
        run(&["send", trace, "--signals", "profiles", "--endpoint", &endpoint, "--protocol", protocol]);
    }
    collector.signal(libc::SIGTERM);
    collector.wait();
    let text = fs::read_to_string(folder.path().join("profiles.json")).unwrap();
    let theirs: Vec<_> = text.lines().map(|line| linked(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(theirs, ours);
    let texts = |values: &BTreeMap<String, i64>| {
        values.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>()
    };
    let of = |n: u64| format!("{n:016x}");
    let expected: Vec<String> = [(5, 100, 1), (7, 4_000, 2), (8, 10_000, 1)]
        .into_iter()
        .flat_map(|(span, ticks, calls)| {
            let span = of(span);
            [
                format!("calls {span} main {calls}"),
                format!("calls {span} main;step {calls}"),
                format!("wall {span} main {ticks}"),
                format!("wall {span} main;step {}", 2 * ticks),
            ]
        })
        .collect();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(texts(&theirs[0]), sorted);
    let request = of(9);
    let mut expected = vec![
        "calls none main 3".to_owned(),
        format!("calls {request} main 1"),
        format!("calls {request} main;step 1"),
        format!("calls {request} main;step;überall 50"),
        "wall none main 8000000".to_owned(),
        format!("wall {request} main 1000000"),
        format!("wall {request} main;step 2000000"),
        format!("wall {request} main;step;überall 4000000"),
    ];
    expected.sort();
    assert_eq!(texts(&theirs[2]), expected);
}
