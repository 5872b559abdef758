//! A host that stays up: 200 requests a second, each with an instance of its own, of a pooled module and of a component by turns.
//!
//! `scripts/bench --part soak 3600` runs it for an hour; as a test it takes half a minute. The host is a process of its own. One
//! sends its spans to a Collector that goes away in the middle; another writes a file and is killed.

use crate::otlp::collector::Collector;
use kperf_otlp::SpanOptions;
use kperf_otlp::exporter::{self, Sending, Settings};
use kperf_rewriter::{Options, rewrite, rewrite_component};
use kperf_trace::{Event, Item, TraceContext, TraceReader};
use kperf_wasmtime::{HostLane, PoolProbes, RecordedStore, Recorder};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wasmtime::component::{self, Component};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, PoolingAllocationConfig, Store,
};

/// Requests a second.
const RATE: u32 = 200;
/// Seconds that a test takes, in all.
const SHORT: u64 = 16;
/// How many bytes recording may take.
const MEMORY: usize = 64 << 20;
/// How much larger the process may become after its first third.
const GROWTH_KB: u64 = 48 << 10;

/// `handle` calls `work` 3 times.
const MODULE: &str = r#"(module
    (memory 1)
    (func $work (param i32) (result i32) (i32.load (local.get 0)))
    (func (export "handle") (drop (call $work (i32.const 0))) (drop (call $work (i32.const 4)))
      (drop (call $work (i32.const 8)))))"#;
/// The same. Its call from outside is a span too.
const COMPONENT: &str = r#"(component
    (core module $m
      (func $work)
      (func (export "handle") (call $work) (call $work) (call $work)))
    (core instance $i (instantiate $m))
    (func (export "handle") (canon lift (core func $i "handle"))))"#;

/// How many calls a request has.
fn calls(request: u32) -> u64 {
    if request.is_multiple_of(2) { 4 } else { 5 }
}

/// The caller's span of a request.
fn parent(request: u32) -> TraceContext {
    let text = format!("00-{:032x}-{:016x}-01", u64::from(request) + 1, u64::from(request) + 1);
    TraceContext::parse(&text, "").unwrap()
}

struct Server {
    engine: Engine,
    recorder: Recorder,
    module: InstancePre<HostLane>,
    component: component::InstancePre<()>,
}

impl Server {
    fn new(sink: impl std::io::Write + Send + 'static) -> Server {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(20)
            .total_component_instances(10)
            .total_memories(20)
            .max_memory_size(1 << 20);
        Recorder::configure_pool(&mut pool, PoolProbes { functions: 10, recorders: 1 });
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).unwrap();
        let module = rewrite(&wat::parse_str(MODULE).unwrap(), &Options::default()).unwrap();
        let options = Options { id_base: 100, ..Options::default() };
        let component = rewrite_component(&wat::parse_str(COMPONENT).unwrap(), &options).unwrap();
        let mut builder =
            Recorder::builder().memory_limit(MEMORY).sink(sink).symbols(module.symbols.to_bytes());
        for table in component.symbols() {
            builder = builder.symbols(table.to_bytes());
        }
        let recorder = builder.build(&engine).unwrap();
        let mut linker = Linker::new(&engine);
        recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
        let module = linker.instantiate_pre(&Module::new(&engine, &module.wasm).unwrap()).unwrap();
        let mut linker = component::Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        let component = linker.instantiate_pre(&Component::new(&engine, &component.wasm).unwrap()).unwrap();
        Server { engine, recorder, module, component }
    }

    fn serve(&self, request: u32) {
        if request.is_multiple_of(2) {
            let mut lane = self.recorder.host_lane();
            lane.set_parent(Some(parent(request)));
            let mut store = Store::new(&self.engine, lane);
            HostLane::call(
                &mut store,
                |lane| lane,
                |store| {
                    let instance = self.module.instantiate(&mut *store)?;
                    instance.get_typed_func::<(), ()>(&mut *store, "handle")?.call(store, ())
                },
            )
            .unwrap();
        } else {
            let mut store = self.recorder.recorded_store(Store::new(&self.engine, ())).unwrap();
            store.set_parent(Some(parent(request))).unwrap();
            self.call(&mut store);
        }
    }

    fn call(&self, store: &mut RecordedStore<()>) {
        let call = |store: &mut RecordedStore<()>| {
            let instance = self.component.instantiate(&mut *store)?;
            instance.get_typed_func::<(), ()>(&mut *store, "handle")?.call(&mut *store, ())
        };
        store.call(call).unwrap();
    }

    /// Serves for so long, and reports how far it is, ten times a second: requests, resident memory in kB, memory of the recording.
    fn run(&self, time: Duration) -> u32 {
        let begun = Instant::now();
        let mut request = 0;
        while begun.elapsed() < time {
            self.serve(request);
            request += 1;
            if request.is_multiple_of(RATE / 10) {
                println!("at {request} {} {}", resident_kb(), self.recorder.stats().memory_bytes);
            }
            let due = Duration::from_secs(1) * request / RATE;
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        request
    }
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The process that serves. It does nothing where it isn't asked to.
#[test]
fn soak_server() {
    let Ok(to) = std::env::var("KPERF_SOAK_TO") else { return };
    let time = Duration::from_secs(std::env::var("KPERF_SOAK_SECONDS").unwrap().parse().unwrap());
    if to.starts_with("http") {
        let settings = Settings {
            endpoint: Some(to),
            give_up_after: Some(Duration::from_secs(600)),
            ..Settings::default()
        };
        let (sink, sending): (_, Sending) =
            exporter::sink(settings.config().unwrap(), SpanOptions::default()).unwrap();
        let server = Server::new(sink);
        let requests = server.run(time);
        server.recorder.finish("completed").unwrap();
        let delivery = sending.wait();
        println!("served {requests} {} {}", delivery.acknowledged, delivery.is_complete());
    } else {
        Server::new(File::create(to).unwrap()).run(time);
    }
}

/// A line of the server's.
enum Line {
    /// Requests, resident memory in kB, memory of the recording in bytes.
    At([u64; 3]),
    /// Requests, acknowledged spans, whether these are all.
    Served([u64; 3]),
}

fn line(text: &str) -> Option<Line> {
    let (word, rest) = text.split_once(' ')?;
    let numbers = rest.split(' ').map(|word| word.parse().unwrap_or(u64::from(word == "true")));
    let numbers = numbers.collect::<Vec<_>>().try_into().ok();
    match word {
        "at" => numbers.map(Line::At),
        "served" => numbers.map(Line::Served),
        _ => None,
    }
}

fn start(to: &str, seconds: u64) -> (Child, impl Iterator<Item = Line> + use<>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "soak::soak_server", "--nocapture"]).stdout(Stdio::piped());
    command.env("KPERF_SOAK_TO", to).env("KPERF_SOAK_SECONDS", seconds.to_string());
    for name in ["OTEL_TRACES_SAMPLER", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        command.env_remove(name);
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (child, lines.filter_map(|text| line(&text)))
}

/// How long each part takes.
fn seconds() -> u64 {
    std::env::var("KPERF_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(SHORT)
}

#[test]
#[cfg(target_os = "linux")]
fn a_collector_that_goes_away_gets_every_span_and_memory_stays() {
    let Some(mut collector) = Collector::start() else { return };
    let seconds = seconds();
    let total = seconds * u64::from(RATE);
    let (mut child, lines) = start(&collector.http(), seconds);
    let (mut largest, mut last, mut is_away) = ([0; 2], None, false);
    for line in lines {
        let [requests, resident, memory] = match line {
            Line::At(numbers) => numbers,
            Line::Served(numbers) => {
                last = Some(numbers);
                // It writes some more, which must be read.
                continue;
            }
        };
        assert!(memory <= MEMORY as u64, "{memory} of {MEMORY} bytes");
        if !is_away && requests > total / 3 && requests < total * 2 / 3 {
            collector.stop(libc::SIGTERM);
            is_away = true;
        } else if is_away && requests >= total * 2 / 3 {
            collector.start_again();
            is_away = false;
        }
        let part = usize::from(requests > total / 3);
        largest[part] = largest[part].max(resident);
    }
    assert!(child.wait().unwrap().success());
    let [requests, acknowledged, is_complete] = last.unwrap();
    assert_eq!(is_complete, 1, "not every span was acknowledged");
    println!("resident: {} kB in the first third, {} kB later; {requests} requests", largest[0], largest[1]);
    assert!(largest[1] <= largest[0] + GROWTH_KB, "{largest:?} kB");
    let requests = requests as u32;
    assert_eq!(acknowledged, (0..requests).map(calls).sum::<u64>());
    let (mut spans, mut counts) = (HashSet::new(), HashMap::<u32, u64>::new());
    let mut roots = 0;
    collector.written(|span| {
        // A request that was cut off may have arrived twice.
        if spans.insert(<[u8; 8]>::try_from(&span.span_id[..]).unwrap()) {
            let trace = u128::from_be_bytes(span.trace_id[..].try_into().unwrap());
            let request = u32::try_from(trace).unwrap() - 1;
            roots += u32::from(span.parent_span_id == parent(request).span_id);
            *counts.entry(request).or_default() += 1;
        }
    });
    let wrong = (0..requests).filter(|request| counts.get(request) != Some(&calls(*request)));
    assert_eq!(wrong.collect::<Vec<_>>(), [0; 0]);
    assert_eq!((counts.len(), roots), (requests as usize, requests));
}

#[test]
#[cfg(target_os = "linux")]
fn a_kill_costs_the_last_second_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("soak.kperf");
    let seconds = seconds();
    let (mut child, lines) = start(trace.to_str().unwrap(), seconds * 10);
    // When so many requests were served.
    let mut served = vec![(Instant::now(), 0)];
    for line in lines {
        let Line::At([requests, ..]) = line else { break };
        served.push((Instant::now(), requests as u32));
        if requests >= seconds / 2 * u64::from(RATE) {
            break;
        }
    }
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    let found = requests_in(&trace);
    let recorded = found
        .iter()
        .zip(0..)
        .take_while(|((request, count), n)| *request == n && **count == calls(*n))
        .count();
    // The writer's thread may be late where other tests run.
    let late = if std::env::var_os("KPERF_SOAK").is_some() {
        Duration::from_secs(1)
    } else {
        Duration::from_secs(5)
    };
    let old = served.iter().rev().find(|(at, _)| killed.duration_since(*at) >= late);
    println!("{recorded} requests of {} are in the trace of a killed host", served[served.len() - 1].1);
    let &(_, requests) = old.unwrap_or(&served[0]);
    assert!(recorded as u32 >= requests && recorded > 0, "{recorded} of {requests}");
}

/// How many calls each request has in a trace.
fn requests_in(trace: &Path) -> BTreeMap<u32, u64> {
    let mut reader = TraceReader::new(BufReader::new(File::open(trace).unwrap())).unwrap();
    let (mut parents, mut counts) = (HashMap::new(), BTreeMap::new());
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Parent(parent) => {
                let of = |context: &TraceContext| u128::from_be_bytes(context.trace_id) as u32 - 1;
                parents.insert(parent.recorder, parent.context.as_ref().map(of));
            }
            Item::Events(batch) => {
                let enters = batch.events.iter().filter(|timed| matches!(timed.event, Event::Enter(_)));
                if let Some(Some(request)) = parents.get(&batch.lane.recorder) {
                    *counts.entry(*request).or_default() += enters.count() as u64;
                }
            }
            _ => {}
        }
    }
    counts
}
