//! Calls and durations of functions, as metrics.

use crate::common::{Numbers, attribute, seeded, simple, spans};
use kperf_abi::{Symbol, SymbolTable};
use kperf_otlp::proto::collector::metrics::v1::ExportMetricsServiceRequest;
use kperf_otlp::proto::metrics::v1::metric::Data;
use kperf_otlp::proto::metrics::v1::number_data_point::Value;
use kperf_otlp::proto::metrics::v1::{AggregationTemporality, ExponentialHistogramDataPoint};
use kperf_otlp::{Limits, Request, SpanOptions, Spans, TraceContext};
use kperf_trace::block::BlockHeader;
use kperf_trace::word::Word;
use kperf_trace::{Allocation, FuncId, Header, Summary, TraceReader, TraceWriter, Window, WindowNode};
use prost::Message;
use std::collections::BTreeMap;

fn metrics(file: &[u8], options: SpanOptions) -> Vec<Request> {
    let mut spans = Spans::new(TraceReader::new(file).expect("a trace"), options);
    assert!(spans.metrics().is_empty(), "not before the end");
    while spans.next().expect("from memory").is_some() {}
    spans.metrics()
}

/// Name and calls of each function, and its durations.
fn points(requests: &[Request]) -> BTreeMap<String, (i64, ExponentialHistogramDataPoint)> {
    let mut points = BTreeMap::new();
    for request in requests {
        let decoded = ExportMetricsServiceRequest::decode(&request.body[..]).expect("a request");
        let metrics = &decoded.resource_metrics[0].scope_metrics[0].metrics;
        let [calls, durations] = &metrics[..] else { panic!("two metrics") };
        assert_eq!((calls.name.as_str(), calls.unit.as_str()), ("kperf.function.calls", "{call}"));
        assert_eq!((durations.name.as_str(), durations.unit.as_str()), ("kperf.function.duration", "s"));
        let (Some(Data::Sum(sum)), Some(Data::ExponentialHistogram(histogram))) =
            (&calls.data, &durations.data)
        else {
            panic!("a sum and a histogram")
        };
        let cumulative = AggregationTemporality::Cumulative as i32;
        assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative);
        assert_eq!(histogram.aggregation_temporality, cumulative);
        assert_eq!(request.spans, (sum.data_points.len() + histogram.data_points.len()) as u64);
        for (calls, durations) in sum.data_points.iter().zip(&histogram.data_points) {
            assert_eq!(calls.attributes, durations.attributes);
            let name = attribute(&calls.attributes, "code.function.name").expect("a name");
            let Some(Value::AsInt(number)) = calls.value else { panic!("an integer") };
            assert!(points.insert(name, (number, durations.clone())).is_none());
        }
    }
    points
}

#[test]
fn every_call_is_counted_however_few_become_spans() {
    let file = simple("10 main{ 500 step{ 1000 } step{ 3000 cell{ 100 } } cell{ } 70 } 5 cell{ 5 }");
    let options = SpanOptions { metrics: true, max_spans: Some(1), ..seeded() };
    let points = points(&metrics(&file, options));
    assert_eq!(points.keys().collect::<Vec<_>>(), ["cell", "main", "step"]);
    let (calls, durations) = &points["cell"];
    assert_eq!((*calls, durations.count, durations.zero_count), (3, 3, 1));
    assert_eq!((durations.sum, durations.min, durations.max), (Some(105.0 / 1e9), Some(0.0), Some(1e-7)));
    assert_eq!((durations.start_time_unix_nano, durations.time_unix_nano), (0, 4690));
    let buckets = durations.positive.as_ref().expect("buckets");
    assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), 2);
    let base = 2f64.powf(2f64.powi(-durations.scale));
    let lower = base.powi(buckets.offset);
    assert!(lower < 5e-9 && 5e-9 <= lower * base, "{durations:?}");
    assert_eq!(points["step"].1.sum, Some((1000.0 + 3100.0) / 1e9));
    assert!(metrics(&file, seeded()).is_empty(), "only when they are asked for");
}

/// Calls and the sum of durations in nanoseconds, by name.
fn sums(file: &[u8], options: SpanOptions) -> Vec<(String, i64, i64)> {
    let points = points(&metrics(file, SpanOptions { metrics: true, ..options }));
    let nanos = |point: &ExponentialHistogramDataPoint| (point.sum.unwrap_or(0.0) * 1e9).round() as i64;
    points.into_iter().map(|(name, (calls, durations))| (name, calls, nanos(&durations))).collect()
}

#[test]
fn filters_choose_what_is_counted() {
    let file = simple("10 main{ 500 step{ 1000 } step{ 3000 cell{ 100 } } cell{ } 70 } 5 cell{ 5 }");
    let expect = |options: SpanOptions, expected: &[(&str, i64, i64)]| {
        let sums = sums(&file, options);
        let sums: Vec<_> = sums.iter().map(|(name, calls, sum)| (name.as_str(), *calls, *sum)).collect();
        assert_eq!(sums, expected);
    };
    let main = ("main", 1, 4670);
    let step = ("step", 2, 4100);
    expect(SpanOptions { max_depth: Some(1), ..seeded() }, &[("cell", 1, 5), main]);
    expect(SpanOptions { min_nanos: 100, ..seeded() }, &[("cell", 1, 100), main, step]);
    let no_step = || -> Option<kperf_otlp::Keep> { Some(Box::new(|name| name != "step")) };
    expect(SpanOptions { keep: no_step(), ..seeded() }, &[("cell", 3, 105), main]);
    expect(SpanOptions { keep: no_step(), max_depth: Some(2), ..seeded() }, &[("cell", 3, 105), main]);
    // Spans that are too many, or whose caller isn't sampled, count all the same.
    expect(SpanOptions { max_spans: Some(1), max_depth: Some(2), ..seeded() }, &[("cell", 2, 5), main, step]);
    let parent =
        TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "").expect("a parent");
    expect(
        SpanOptions { parent: Some(parent), max_depth: Some(2), ..seeded() },
        &[("cell", 2, 5), main, step],
    );
}

#[test]
fn limits_hold_for_metrics_too() {
    let mut script = String::new();
    let mut numbers = Numbers(3);
    for n in 0..500 {
        script.push_str(&format!("function_{n}{{ {} }} ", numbers.below(1 << 40)));
    }
    let file = simple(&script);
    let all = |limits| metrics(&file, SpanOptions { metrics: true, limits, ..seeded() });
    let whole = all(Limits::default());
    assert_eq!((whole.len(), points(&whole).len()), (1, 500));
    for limits in [
        Limits { bytes: 5000, spans: 1000 },
        Limits { bytes: 1 << 20, spans: 7 },
        Limits { bytes: 0, spans: 0 },
    ] {
        let requests = all(limits);
        assert!(points(&requests) == points(&whole));
        for request in &requests {
            assert!(request.body.len() <= limits.bytes || request.spans == 2);
            assert!(request.spans <= limits.spans.max(2));
        }
    }
}

/// A profile's calls are counted, its times are those of the samples; its slow calls are spans, and counted once.
#[test]
fn a_profile_has_counts_and_self_times() {
    let node = |parent, func, self_ticks| WindowNode { parent, func: FuncId(func), samples: 1, self_ticks };
    let window = |start_ticks, nodes, calls| Window {
        start_ticks,
        end_ticks: start_ticks + 5_000_000,
        samples: 2,
        nodes,
        calls,
        ..Window::default()
    };
    let words = [Word::Enter(0), Word::Time(8_000_000), Word::Leave];
    let mut block = BlockHeader { start_ticks: 1_000_000, ..BlockHeader::default() }.to_bytes().to_vec();
    block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).expect("a trace");
    let nodes = vec![node(None, 0, 1_000_000), node(Some(0), 1, 3_000_000)];
    let windows = [
        window(1_000_000, nodes, vec![(FuncId(0), 1), (FuncId(1), 500_000)]),
        window(6_000_000, vec![node(None, 0, 500_000)], vec![(FuncId(1), 7)]),
    ];
    let symbol = |id, name: &str| Symbol { id: FuncId(id), name: name.into(), ..Symbol::default() };
    let table = SymbolTable { symbols: vec![symbol(0, "main"), symbol(1, "step")], ..SymbolTable::default() };
    writer.symbols(&table.to_bytes()).expect("symbols");
    windows.iter().for_each(|window| writer.window(window).expect("a window"));
    writer.spans(0, &block).expect("spans");
    let file = writer.finish(&Summary::default()).expect("a trace");

    let mut spans =
        Spans::new(TraceReader::new(&file[..]).expect("a trace"), SpanOptions { metrics: true, ..seeded() });
    let mut count = 0;
    while let Some(request) = spans.next().expect("from memory") {
        count += request.spans;
    }
    assert_eq!(count, 1);
    for limits in [Limits::default(), Limits { bytes: 1, spans: 1000 }] {
        let requests = metrics(&file, SpanOptions { metrics: true, limits, ..seeded() });
        assert_eq!(requests.len(), if limits.bytes == 1 { 2 } else { 1 });
        let mut all = BTreeMap::new();
        for request in requests {
            let decoded = ExportMetricsServiceRequest::decode(&request.body[..]).expect("a request");
            for metric in &decoded.resource_metrics[0].scope_metrics[0].metrics {
                let Some(Data::Sum(sum)) = &metric.data else { panic!("a sum") };
                for point in &sum.data_points {
                    let name = attribute(&point.attributes, "code.function.name").expect("a name");
                    assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1_000_000, 11_000_000));
                    all.insert((metric.name.clone(), name), point.value);
                }
            }
        }
        let expected = [
            ("kperf.function.calls", "main", Value::AsInt(1)),
            ("kperf.function.calls", "step", Value::AsInt(500_007)),
            ("kperf.function.self_time", "main", Value::AsDouble(0.0015)),
            ("kperf.function.self_time", "step", Value::AsDouble(0.003)),
        ];
        let expected = expected.map(|(metric, name, value)| ((metric.into(), name.into()), Some(value)));
        assert_eq!(all, BTreeMap::from(expected));
    }
}

/// A function that is counted only has spans without length that say so, and no durations.
#[test]
fn a_counted_function_has_calls_and_no_durations() {
    let words = [Word::Enter(0), Word::Time(100), Word::Leaf(1), Word::Leaf(1), Word::Time(50), Word::Leave];
    let mut block = BlockHeader { start_ticks: 1_000, ..BlockHeader::default() }.to_bytes().to_vec();
    block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
    let symbol =
        |id, name: &str, counted| Symbol { id: FuncId(id), name: name.into(), counted, ..Symbol::default() };
    let symbols = vec![symbol(0, "main", false), symbol(1, "pure", true)];
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).expect("a trace");
    writer.symbols(&SymbolTable { symbols, ..SymbolTable::default() }.to_bytes()).expect("symbols");
    writer.block(0, &block).expect("a block");
    let file = writer.finish(&Summary::default()).expect("a trace");

    let (spans, _) = spans(&file, seeded());
    let told: Vec<_> = spans
        .iter()
        .map(|span| {
            let counted = span.attributes.iter().any(|attribute| attribute.key == "kperf.func.counted");
            (span.name.as_str(), span.end_time_unix_nano - span.start_time_unix_nano, counted)
        })
        .collect();
    assert_eq!(told, [("pure", 0, true), ("pure", 0, true), ("main", 150, false)]);

    let requests = metrics(&file, SpanOptions { metrics: true, ..seeded() });
    let decoded = ExportMetricsServiceRequest::decode(&requests[0].body[..]).expect("a request");
    let [calls, durations] = &decoded.resource_metrics[0].scope_metrics[0].metrics[..] else {
        panic!("two metrics")
    };
    let (Some(Data::Sum(calls)), Some(Data::ExponentialHistogram(durations))) =
        (&calls.data, &durations.data)
    else {
        panic!("a sum and a histogram")
    };
    assert_eq!((calls.data_points.len(), durations.data_points.len(), requests[0].spans), (2, 1, 3));
    assert!(calls.data_points.iter().any(|point| point.value == Some(Value::AsInt(2))));
}

#[test]
fn what_functions_allocate_is_in_metrics() {
    let mut trace = TraceWriter::new(Vec::new(), &Header::default()).expect("a trace");
    let names = ["keeps", "makes"];
    let symbol = |(id, name): (u32, &str)| Symbol { id: FuncId(id), name: name.into(), ..Symbol::default() };
    let symbols = (0..).zip(names).map(symbol).collect();
    trace.symbols(&SymbolTable { symbols, ..SymbolTable::default() }.to_bytes()).expect("symbols");
    let mut words = Allocation::Allocated { pointer: 8, size: 1000 }.encode().to_vec();
    words.push(0);
    words.extend(Allocation::Allocated { pointer: 16, size: 30 }.encode());
    words.extend(Allocation::Allocated { pointer: 24, size: 4 }.encode());
    words.extend(Allocation::Freed { pointer: 24 }.encode());
    words.push(1);
    words.extend(Allocation::Created { size: 50 }.encode());
    words.extend([Word::Leave.encode(), Word::Leave.encode()]);
    let mut block = BlockHeader { start_ticks: 10, ..BlockHeader::default() }.to_bytes().to_vec();
    words.iter().for_each(|word| block.extend(word.to_le_bytes()));
    trace.block(0, &block).expect("a block");
    let file = trace.finish(&Summary::default()).expect("a trace");

    let requests = metrics(&file, SpanOptions { metrics: true, ..seeded() });
    let mut found = BTreeMap::new();
    for request in &requests {
        let decoded = ExportMetricsServiceRequest::decode(&request.body[..]).expect("a request");
        for metric in &decoded.resource_metrics[0].scope_metrics[0].metrics {
            let Some(Data::Sum(sum)) = metric.data.as_ref().filter(|_| metric.name.contains("memory")) else {
                continue;
            };
            assert_eq!(sum.is_monotonic, metric.name != "kperf.memory.live");
            for point in &sum.data_points {
                let Some(Value::AsInt(number)) = point.value else { panic!("an integer") };
                let name = attribute(&point.attributes, "code.function.name").expect("a name");
                found.insert((metric.name.replace("kperf.memory.", ""), name), number);
            }
        }
    }
    let found: Vec<_> =
        found.iter().map(|((metric, name), number)| (metric.as_str(), name.as_str(), *number)).collect();
    let expected = [
        ("allocated", "[host]", 1000),
        ("allocated", "keeps", 34),
        ("allocated", "makes", 50),
        ("allocations", "[host]", 1),
        ("allocations", "keeps", 2),
        ("allocations", "makes", 1),
        ("freed", "[host]", 0),
        ("freed", "keeps", 4),
        ("live", "[host]", 1000),
        ("live", "keeps", 30),
    ];
    assert_eq!(found, expected);
}
