//! Calls become spans.

use crate::common::{Names, completed, reader};
use crate::common::{
    Numbers, assert_text, attribute, block, decode, requests, seeded, simple, spans, text, trace,
};
use kperf_abi::block::BlockHeader;
use kperf_otlp::proto::trace::v1::span::SpanKind;
use kperf_otlp::{Limits, Roots, SpanOptions, Spans};
use kperf_trace::{Anchor, CallParent, Header, HostInfo, Summary, TraceContext, TraceWriter};

const PROGRAM: &str = "main{ 500 play{ 500 step{ 1000 } 500 step{ 2000 cell{ 100 } } 200 } 30 cell{ 7 } 70 }";

fn outcome(text: &str) -> Summary {
    Summary { outcome: text.into(), ..Summary::default() }
}

fn block_of(script: &str) -> (u32, BlockHeader, &str) {
    (0, BlockHeader::default(), script)
}

#[test]
fn calls_are_a_tree_of_spans() {
    let (spans, account) = spans(&simple(PROGRAM), seeded());
    assert_text(
        &text(&spans),
        "
        trace 0: main 0-4907
          play 500-4800
            step 1000-2000
            step 2500-4600
              cell 4500-4600
          cell 4830-4837",
    );
    assert_eq!((account.calls, account.spans, account.requests), (6, 6, 1));
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["step", "cell", "step", "play", "cell", "main"], "in the order of their ends");
}

#[test]
fn a_span_says_what_of_it_was_the_recorder_s() {
    let program = "main{ 6 pause=2 step{ 9 pause=3 pause=2 wait=1 cell{ 4 pause=1 own=2 guess=1 } } 40 }";
    let (all, _) = spans(&simple(program), seeded());
    assert_text(
        &text(&all),
        "
        trace 0: main 0-59 recorder.time=2
          step 6-19 recorder.time=5 wait.time=1
            cell 15-19 recorder.time=1 wait.time=3",
    );
    // What is left out has its own in its time.
    let (some, _) = spans(&simple(program), SpanOptions { max_depth: Some(1), ..seeded() });
    assert_text(
        &text(&some),
        "
        trace 0: main 0-59 elided.count=2 elided.time=13 recorder.time=2",
    );
}

#[test]
fn a_span_says_what_its_function_is() {
    let (spans, _) = spans(&simple(PROGRAM), seeded());
    let span = &spans[0];
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    assert_eq!(span.kind(), SpanKind::Internal);
    let keys: Vec<&str> = span.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    let values =
        keys.iter().map(|key| attribute(&span.attributes, key).expect("a value")).collect::<Vec<_>>();
    assert_eq!(
        keys,
        [
            "code.function.name",
            "code.file.path",
            "code.line.number",
            "kperf.func.id",
            "kperf.func.index",
            "thread.id"
        ]
    );
    assert_eq!(values, ["step", "src/life.rs", "17", "3", "3", "0"]);
    assert_eq!(attribute(&spans[1].attributes, "code.file.path"), None);
}

#[test]
fn every_request_says_who_tells() {
    let header = Header {
        anchor: Anchor { ticks: 0, unix_nanos: 1_700_000_000_000_000_000 },
        host: HostInfo {
            name: "wasmtime".into(),
            version: "48".into(),
            os: "macos".into(),
            arch: "x86_64".into(),
            pid: 4711,
        },
        command: vec!["kperf-wasm".into(), "run".into()],
        ..Header::default()
    };
    let file = crate::common::trace_with(&header, &[block_of(PROGRAM)], Some(&completed()));
    let mut options = seeded();
    options.limits.spans = 4;
    options.resource.attributes = vec![("team".into(), "life".into()), ("os.type".into(), "plan9".into())];
    let (requests, _) = requests(&file, options);
    assert_eq!(requests.iter().map(|request| request.spans).collect::<Vec<_>>(), [4, 2]);
    for request in requests {
        let decoded = decode(&request.body);
        let told = &decoded.resource_spans[0];
        let attributes = &told.resource.as_ref().expect("a resource").attributes;
        let version = env!("CARGO_PKG_VERSION");
        for (key, value) in [
            ("service.name", "test"),
            ("telemetry.sdk.name", "kperf"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", version),
            ("process.pid", "4711"),
            ("os.type", "plan9"),
            ("host.arch", "amd64"),
            ("kperf.host.name", "wasmtime"),
            ("kperf.host.version", "48"),
            ("kperf.module.name", "test"),
            ("kperf.clock.kind", "precise"),
            ("team", "life"),
        ] {
            assert_eq!(attribute(attributes, key).as_deref(), Some(value), "{key}");
        }
        let args = attribute(attributes, "process.command_args").expect("arguments");
        assert!(args.contains("kperf-wasm") && args.contains("run"), "{args}");
        let scope = told.scope_spans[0].scope.as_ref().expect("a scope");
        assert_eq!((scope.name.as_str(), scope.version.as_str()), ("kperf-wasm", version));
        assert_eq!(told.schema_url, kperf_otlp::SCHEMA_URL);
        assert_eq!(told.scope_spans[0].schema_url, kperf_otlp::SCHEMA_URL);
        assert!(told.scope_spans[0].spans[0].start_time_unix_nano >= 1_700_000_000_000_000_000);
    }
}

#[test]
fn what_ended_a_call_is_told() {
    let file =
        trace(&[block_of("f{ 5 g{ 5 h{ 5 caught>2 5 trap>0 10 f{ 10 g{ 1 exit>0")], Some(&outcome("exit 3")));
    let (spans, _) = spans(&file, seeded());
    assert_text(
        &text(&spans),
        r#"
        trace 0: f 0-20 ending=trap error.type=trap event exception@20 exception.type="trap" exception.message="the guest trapped" status 2 "the guest trapped"
          g 5-20 ending=trap error.type=trap event exception@20 exception.type="trap" exception.message="the guest trapped" status 2 "the guest trapped"
            h 10-15 ending=unwound error.type=exception event exception@15 exception.type="exception" exception.message="unwound by an exception that was caught further out" status 2 "unwound by an exception that was caught further out"
        trace 1: f 30-41 ending=exit error.type=exit event proc_exit@41 process.exit.code="3" status 2 "exit code 3"
          g 40-41 ending=exit error.type=exit event proc_exit@41 process.exit.code="3" status 2 "exit code 3""#,
    );
}

#[test]
fn the_last_trap_s_message_is_the_trace_s_own() {
    let told = |script: &str, summary: Option<&Summary>| {
        text(&spans(&trace(&[block_of(script)], summary), seeded()).0)
    };
    let trap = outcome("trap: wasm `unreachable` instruction executed");
    assert_text(
        &told("f{ 5 trap>0 5 f{ 5 g{ trap>0", Some(&trap)),
        r#"
        trace 0: f 0-5 ending=trap error.type=trap event exception@5 exception.type="trap" exception.message="the guest trapped" status 2 "the guest trapped"
        trace 1: f 10-15 ending=trap error.type=trap event exception@15 exception.type="trap" exception.message="wasm `unreachable` instruction executed" status 2 "wasm `unreachable` instruction executed"
          g 15-15 ending=trap error.type=trap event exception@15 exception.type="trap" exception.message="wasm `unreachable` instruction executed" status 2 "wasm `unreachable` instruction executed""#,
    );
    assert_text(
        &told("f{ 5 exit>0", Some(&outcome("exit 0"))),
        r#"trace 0: f 0-5 ending=exit event proc_exit@5 process.exit.code="0""#,
    );
    assert_text(
        &told("f{ 5 g{ 1 unfinished>0", Some(&completed())),
        "
        trace 0: f 0-6 ending=unfinished
          g 5-6 ending=unfinished",
    );
    assert_text(
        &told("f{ 5 g{ 1 }", None),
        "
        trace 0: f 0-6 ending=cut off
          g 5-6",
    );
}

#[test]
fn calls_whose_enter_was_lost_are_spans_too() {
    let mut names = Names::default();
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, &Header::default()).expect("to memory");
    writer.lost(0, 3).expect("to memory");
    let header = BlockHeader { stack: 0, depth: 1, start_ticks: 100 };
    writer.block(0, &block(&mut names, header, "10 g{ 5 } 5 }")).expect("to memory");
    writer.finish(&completed()).expect("to memory");
    let (spans, account) = spans(&file, seeded());
    assert_text(
        &text(&spans),
        "
        trace 0: [lost] 100-120
          func id 1 110-115",
    );
    assert_eq!((account.calls, account.health.counts.calls), (2, 1));
}

#[test]
fn a_run_can_be_one_trace() {
    let blocks = [
        block_of("f{ 5 } 5 g{ 5 }"),
        (1, BlockHeader { start_ticks: 3, ..BlockHeader::default() }, "h{ 90 }"),
    ];
    let file = trace(&blocks, Some(&Summary { end_ticks: 200, ..completed() }));
    let (per_call, _) = spans(&file, seeded());
    assert_text(
        &text(&per_call),
        "
        trace 0: f 0-5
        trace 1: h 3-93
        trace 2: g 10-15",
    );
    let (per_run, account) = spans(&file, SpanOptions { roots: Roots::PerRun, ..seeded() });
    assert_text(
        &text(&per_run),
        "
        trace 0: test 0-200 outcome=completed
          f 0-5
          h 3-93
          g 10-15",
    );
    assert_eq!((account.calls, account.spans, account.run_spans), (3, 4, 1));
    assert_eq!(attribute(&per_run[2].attributes, "thread.id").as_deref(), Some("1"));
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03";

#[test]
fn spans_are_children_of_the_caller_s() {
    let context = TraceContext::parse(PARENT, "vendor=7").expect("a context");
    let header = Header { parent: Some(context.clone()), ..Header::default() };
    let file = crate::common::trace_with(&header, &[block_of("f{ 5 g{ 1 } } 5 g{ 5 }")], Some(&completed()));
    let (told, _) = spans(&file, seeded());
    assert_text(
        &text(&told),
        "
        trace 0: f 0-6 state vendor=7 flags 0x303
          g 5-6 state vendor=7 flags 0x103
        trace 0: g 11-16 state vendor=7 flags 0x303",
    );
    assert_eq!(told[0].trace_id, context.trace_id);
    assert_eq!(told[1].parent_span_id, context.span_id);
    let (told, _) = spans(&file, SpanOptions { roots: Roots::PerRun, ..seeded() });
    assert_text(
        &text(&told),
        "
        trace 0: test 0-16 outcome=completed state vendor=7 flags 0x303
          f 0-6 state vendor=7 flags 0x103
            g 5-6 state vendor=7 flags 0x103
          g 11-16 state vendor=7 flags 0x103",
    );
    let other = TraceContext::parse(&PARENT.replace("-03", "-01"), "").expect("a context");
    let (told, _) = spans(&file, SpanOptions { parent: Some(other), ..seeded() });
    assert!(text(&told).starts_with("trace 0: f 0-6 flags 0x301\n"), "{}", text(&told));
}

#[test]
fn what_isn_t_sampled_has_no_spans() {
    let context = TraceContext::parse(&PARENT.replace("-03", "-00"), "").expect("a context");
    for roots in [Roots::PerCall, Roots::PerRun] {
        let options = SpanOptions { parent: Some(context.clone()), roots, ..seeded() };
        let (told, account) = spans(&simple(PROGRAM), options);
        assert!(told.is_empty());
        assert_eq!((account.elided.unsampled.calls, account.elided.unsampled.nanos), (6, 4907));
        assert_eq!(account.run_spans, 0);
    }
}

#[test]
fn a_lane_s_calls_are_children_of_what_the_host_says() {
    let contexts = ["00", "11", "22"].map(|id| {
        TraceContext::parse(
            &format!("00-{}-{}-01", id.repeat(16).replace("00", "ff"), "0a".repeat(8)),
            id.len().to_string().as_str().replace('2', "a=1").as_str(),
        )
        .expect("a context")
    });
    let mut names = Names::default();
    let scripts = ["f{ 5 g{ 1 } }", "f{ 5", "3 } f{ 1 }", "f{ 2 }"].map(|script| script.to_owned());
    let mut file = Vec::new();
    let header = Header { parent: Some(contexts[2].clone()), ..Header::default() };
    let mut writer = TraceWriter::new(&mut file, &header).expect("to memory");
    let say = |writer: &mut TraceWriter<&mut Vec<u8>>, stack, context: Option<&TraceContext>| {
        let parent = CallParent { recorder: 0, stack, context: context.cloned() };
        writer.parent(&parent).expect("to memory");
    };
    let mut at = |start_ticks, depth, n: usize| {
        block(&mut names, BlockHeader { stack: 0, depth, start_ticks }, &scripts[n])
    };
    let blocks = [at(0, 0, 0), at(10, 0, 1), at(20, 1, 2), at(30, 0, 3), at(40, 0, 3)];
    say(&mut writer, Some(0), Some(&contexts[0]));
    writer.block(0, &blocks[0]).expect("to memory");
    writer.block(1, &blocks[0]).expect("to memory");
    // In the middle of a call it holds for the next one.
    writer.block(0, &blocks[1]).expect("to memory");
    say(&mut writer, Some(0), Some(&contexts[1]));
    say(&mut writer, Some(7), Some(&contexts[2]));
    writer.block(0, &blocks[2]).expect("to memory");
    say(&mut writer, None, None);
    writer.block(0, &blocks[3]).expect("to memory");
    say(&mut writer, None, Some(&contexts[0]));
    writer.block(0, &blocks[4]).expect("to memory");
    writer.symbols(&names.table().to_bytes()).expect("to memory");
    writer.finish(&completed()).expect("to memory");
    let (told, _) = spans(&file, seeded());
    let of = |span: &kperf_otlp::proto::trace::v1::Span| {
        let thread = attribute(&span.attributes, "thread.id").expect("a thread");
        let remote = span.flags & 0x200 != 0;
        format!(
            "{}-{} on {thread}: {:02x}{}",
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.trace_id[0],
            if remote { " remote" } else { "" }
        )
    };
    assert_eq!(
        told.iter().map(of).collect::<Vec<_>>(),
        [
            "5-6 on 0: ff",
            "0-6 on 0: ff remote",
            "5-6 on 1: 22",
            "0-6 on 1: 22 remote",
            "10-23 on 0: ff remote",
            "23-24 on 0: 11 remote",
            "30-32 on 0: 22 remote",
            "40-42 on 0: ff remote",
        ]
    );
    assert_eq!(told[1].trace_state, "a=1");
}

#[test]
fn limits_cut_requests_and_change_nothing_else() {
    let mut script = String::new();
    let mut numbers = Numbers(7);
    for _ in 0..3000 {
        script.push_str(["f{ 3 ", "f{ g{ 1 } 2 ", "long_name_of_a_function{ 9 "][numbers.below(3) as usize]);
        script.push_str("} ");
    }
    let file = simple(&script);
    let (whole, _) = spans(&file, seeded());
    for limits in [
        Limits { bytes: 10_000, spans: 10_000 },
        Limits { bytes: 100_000, spans: 100 },
        Limits { bytes: 1, spans: 1 },
        Limits { bytes: 0, spans: 0 },
        Limits { bytes: 1500, spans: 1000 },
    ] {
        let (cut, account) = spans(&file, SpanOptions { limits, ..seeded() });
        assert!(cut == whole, "{limits:?}");
        let (requests, _) = requests(&file, SpanOptions { limits, ..seeded() });
        assert!(requests.len() > 20 && account.requests == requests.len() as u64);
        for (n, request) in requests.iter().enumerate() {
            assert!(request.spans <= limits.spans.max(1));
            assert!(request.body.len() <= limits.bytes || request.spans == 1, "{limits:?}");
            // The next span had no place.
            let room = limits.bytes.saturating_sub(request.body.len());
            assert!(n + 1 == requests.len() || request.spans == limits.spans.max(1) || room < 200);
        }
    }
}

#[test]
fn what_is_gathered_can_be_had_before_the_end() {
    let file = simple(PROGRAM);
    let (whole, _) = spans(&file, seeded());
    let mut parts = Vec::new();
    let mut reading = Spans::new(reader(&file), seeded());
    assert_eq!(reading.partial(), None);
    while let Some(request) = reading.next().expect("from memory") {
        parts.extend(decode(&request.body).resource_spans[0].scope_spans[0].spans.clone());
    }
    assert!(reading.partial().is_none() && parts == whole);
}

#[test]
fn ids_come_from_the_seed_or_from_the_trace() {
    let file = simple(PROGRAM);
    let ids = |options: SpanOptions| {
        let (spans, _) = spans(&file, options);
        spans.iter().map(|span| (span.trace_id.clone(), span.span_id.clone())).collect::<Vec<_>>()
    };
    let seed = |seed| ids(SpanOptions { seed, ..SpanOptions::default() });
    assert_eq!(seed(Some(5)), seed(Some(5)));
    assert_ne!(seed(Some(5)), seed(Some(6)));
    assert_eq!(seed(None), seed(None));
    assert_ne!(seed(None), seed(Some(5)));
    // A filter doesn't change the ids of what stays.
    let few = ids(SpanOptions { seed: Some(5), min_nanos: 1000, ..SpanOptions::default() });
    assert!(few.len() == 4 && few.iter().all(|id| seed(Some(5)).contains(id)));
}
