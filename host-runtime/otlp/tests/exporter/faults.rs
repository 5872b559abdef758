//! Servers that answer badly, late or not at all: nothing is lost, or the table says how much, and nothing hangs.

use crate::common::simple;
use crate::server::*;
use kperf_otlp::exporter::{
    About, BoxError, Compression, Config, Delivery, Protocol, Sending, Source, SourceProgress, profile_sink,
    sink,
};
use kperf_otlp::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use kperf_otlp::proto::collector::trace::v1::ExportTraceServiceRequest;
use kperf_otlp::proto::trace::v1::{ResourceSpans, ScopeSpans, Span};
use kperf_otlp::{Limits, ProfileOptions, SpanOptions};
use kperf_trace::{FuncId, Header, Summary, TraceWriter, Window, WindowNode};
use prost::Message;
use std::io::Write;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

const BOTH: [Protocol; 2] = [Protocol::HttpProtobuf, Protocol::Grpc];

/// The spans of requests that were seen, retries apart.
fn distinct(server: &Server) -> usize {
    let mut bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    bodies.sort();
    bodies.dedup();
    bodies.len()
}

fn messages(delivery: &Delivery) -> Vec<(About, &str)> {
    delivery.messages.iter().map(|message| (message.about, message.text.as_str())).collect()
}

#[test]
fn every_request_arrives_once_over_connections_that_are_kept() {
    for protocol in BOTH {
        let server = Server::start(None, |_| Reply::Accept);
        let mut config = server.config(protocol);
        config.headers = vec![("Api-Key".into(), "secret".into())];
        let delivery = send(config, 50);
        assert_eq!((delivery.acknowledged, delivery.elided, delivery.requests), (5000, 50, 50));
        assert_eq!((delivery.bytes, delivery.retries), (50 * 800, 0));
        assert!(delivery.is_complete() && delivery.messages.is_empty(), "{delivery}");
        let seen = server.seen();
        assert_eq!((seen.len(), distinct(&server)), (50, 50));
        let mut peers: Vec<_> = seen.iter().map(|seen| seen.peer).collect();
        peers.sort();
        peers.dedup();
        // hyper may begin a third while the second is being made. If they were not kept, there would be about 50.
        assert!(peers.len() <= 4, "{} connections for two requests in flight", peers.len());
        let headers = &seen[0].headers;
        assert_eq!(headers["api-key"], "secret");
        assert!(headers["user-agent"].to_str().unwrap().starts_with("kperf-wasm/"));
        let (path, kind) = match protocol {
            Protocol::HttpProtobuf => ("/v1/traces", "application/x-protobuf"),
            Protocol::Grpc => {
                ("/opentelemetry.proto.collector.trace.v1.TraceService/Export", "application/grpc")
            }
        };
        assert_eq!((seen[0].path.as_str(), headers["content-type"].to_str().unwrap()), (path, kind));
    }
}

#[test]
fn gzip_is_unpacked_by_the_other_side_to_the_same_bytes() {
    use std::io::Read;
    for protocol in BOTH {
        let server = Server::start(None, |_| Reply::Accept);
        let config =
            Config { compression: kperf_otlp::exporter::Compression::Gzip, ..server.config(protocol) };
        assert_eq!(send(config, 2).acknowledged, 200);
        for seen in server.seen() {
            let (packed, encoding) = match protocol {
                Protocol::HttpProtobuf => (&seen.body[..], "content-encoding"),
                Protocol::Grpc => {
                    assert_eq!(seen.body[0], 1, "the flag of compression");
                    (&seen.body[5..], "grpc-encoding")
                }
            };
            assert_eq!(seen.headers[encoding], "gzip");
            let mut body = Vec::new();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut body).unwrap();
            assert_eq!(body.len(), 800);
        }
    }
}

#[test]
fn what_may_be_retried_is_until_it_is_taken() {
    let http = [429, 502, 503, 504].map(|status| Reply::Status(status, Vec::new(), "busy"));
    let grpc = [1, 4, 10, 11, 14, 15].map(|code| Reply::Grpc(code, "busy", None));
    let cases = [(Protocol::HttpProtobuf, http.to_vec()), (Protocol::Grpc, grpc.to_vec())];
    for (protocol, replies) in cases {
        let count = replies.len();
        let server = Server::start(None, move |n| replies.get(n).cloned().unwrap_or(Reply::Accept));
        let delivery = send(server.config(protocol), 3);
        assert!(delivery.is_complete(), "{delivery}");
        assert_eq!(delivery.retries, count as u64, "{delivery}");
        assert_eq!((server.seen().len(), distinct(&server)), (count + 3, 3));
    }
}

#[test]
fn what_may_not_be_retried_fails_and_the_rest_goes_on() {
    let http = |status| Reply::Status(status, Vec::new(), "no good");
    let grpc = |code| Reply::Grpc(code, "no good", None);
    for (protocol, reply, text) in [
        (Protocol::HttpProtobuf, http(400), "HTTP 400 Bad Request: no good"),
        (Protocol::HttpProtobuf, http(500), "HTTP 500 Internal Server Error: no good"),
        (Protocol::Grpc, grpc(3), "InvalidArgument: no good"),
        // Without a RetryInfo, it isn't to be tried again.
        (Protocol::Grpc, grpc(8), "ResourceExhausted: no good"),
        (Protocol::Grpc, grpc(13), "Internal: no good"),
    ] {
        let server = Server::start(None, move |n| if n == 1 { reply.clone() } else { Reply::Accept });
        let delivery = send(server.config(protocol), 10);
        assert_eq!((delivery.acknowledged, delivery.failed, delivery.dropped), (900, 100, 0), "{delivery}");
        assert_eq!(messages(&delivery), [(About::Failed, text)]);
        assert_eq!(server.seen().len(), 10);
    }
}

/// Requests with the spans of these lengths.
struct Lengths(Vec<Vec<usize>>);

impl Source for Lengths {
    fn next_request(&mut self) -> Result<Option<kperf_otlp::Request>, BoxError> {
        let Some(lengths) = self.0.pop() else { return Ok(None) };
        let span = |(n, length): (usize, &usize)| Span {
            name: format!("{}.{n} {}", self.0.len(), String::from_utf8_lossy(&noise(*length))),
            ..Span::default()
        };
        let spans: Vec<Span> = lengths.iter().enumerate().map(span).collect();
        let count = spans.len() as u64;
        let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
        let body = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
        Ok(Some(kperf_otlp::Request { body, spans: count }))
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress::default()
    }
}

/// Letters that gzip can't make much shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..length).map(|_| random.u8(b'0'..b'z')).collect()
}

#[test]
fn what_is_too_large_is_sent_in_parts_and_only_a_span_that_is_too_large_alone_is_lost() {
    for (protocol, compression) in [
        (Protocol::HttpProtobuf, Compression::None),
        (Protocol::HttpProtobuf, Compression::Gzip),
        (Protocol::Grpc, Compression::None),
    ] {
        let limit = 20_000;
        let server = Server::start(None, move |_| Reply::UpTo(limit));
        let mut odd = vec![1_000; 30];
        odd[7] = 50_000;
        let all = vec![vec![1_000; 100], vec![1_000; 3], odd, vec![1_000; 64]];
        let config = Config { compression, ..server.config(protocol) };
        let delivery = Sending::start(config, move || Ok(Lengths(all))).unwrap().wait();
        check(&delivery);
        assert_eq!((delivery.acknowledged, delivery.rejected, delivery.failed), (196, 1, 0), "{delivery}");
        let [(About::Rejected, why)] = messages(&delivery)[..] else { panic!("{delivery}") };
        assert!(why.contains("one of 50,0") || why.contains("(one of 50"), "{why}");
        assert!(!delivery.can_be_sent_again() && delivery.retries == 0);
        // What was learned of the limit spares later requests a try.
        let refused = server.seen().iter().filter(|seen| seen.body.len() > limit).count();
        assert!(refused < 20, "{refused} tries");
        if compression == Compression::None {
            let skip = if protocol == Protocol::Grpc { 5 } else { 0 };
            let seen = server.seen().into_iter().filter(|seen| seen.body.len() <= limit);
            let requests = seen.map(|seen| ExportTraceServiceRequest::decode(&seen.body[skip..]).unwrap());
            let mut names: Vec<String> = requests
                .flat_map(|request| request.resource_spans)
                .flat_map(|of| of.scope_spans)
                .flat_map(|of| of.spans)
                .map(|span| span.name.split(' ').next().unwrap().to_owned())
                .collect();
            names.sort();
            let count = names.len();
            names.dedup();
            assert_eq!((count, names.len()), (196, 196));
        }
    }
}

#[test]
fn spans_of_a_trace_that_grows_slowly_are_sent_before_their_request_is_full() {
    let server = Server::start(None, |_| Reply::Accept);
    let (mut spool, sending) = sink(server.config(Protocol::HttpProtobuf), SpanOptions::default()).unwrap();
    spool.write_all(&simple("main{ 10 step{ 10 } }")).unwrap();
    let begun = Instant::now();
    while sending.delivery().acknowledged == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sending.delivery());
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(spool);
    let delivery = sending.wait();
    assert!(delivery.is_complete(), "{delivery}");
}

#[test]
fn what_no_request_can_change_ends_it_and_the_rest_is_counted() {
    let http = |status| Reply::Status(status, Vec::new(), "go away");
    for (protocol, reply, text) in [
        (Protocol::HttpProtobuf, http(401), "HTTP 401 Unauthorized: go away"),
        (Protocol::HttpProtobuf, http(404), "HTTP 404 Not Found: go away"),
        (Protocol::HttpProtobuf, http(302), "HTTP 302 Found: go away"),
        (Protocol::Grpc, Reply::Grpc(16, "go away", None), "Unauthenticated: go away"),
        (Protocol::Grpc, Reply::Grpc(12, "", None), "Unimplemented"),
    ] {
        let server = Server::start(None, move |_| reply.clone());
        let delivery = send(server.config(protocol), 1000);
        assert!(server.seen().len() <= 2, "{} tries", server.seen().len());
        assert_eq!((delivery.acknowledged, delivery.whole), (0, true), "{delivery}");
        assert_eq!(delivery.failed + delivery.dropped, 100_000, "{delivery}");
        assert!(delivery.dropped >= 99_000, "{delivery}");
        assert_eq!(messages(&delivery), [(About::Failed, text)]);
    }
}

#[test]
fn the_wait_that_a_server_asks_for_is_kept() {
    let later = |status| Reply::Status(status, vec![("retry-after", "1".into())], "");
    for (protocol, reply, least) in [
        (Protocol::HttpProtobuf, later(503), 1000),
        (Protocol::HttpProtobuf, later(429), 1000),
        (Protocol::Grpc, Reply::Grpc(14, "", Some(700)), 700),
        (Protocol::Grpc, Reply::Grpc(8, "", Some(700)), 700),
    ] {
        let server = Server::start(None, move |n| if n == 0 { reply.clone() } else { Reply::Accept });
        let delivery = send(server.config(protocol), 1);
        assert!(delivery.is_complete() && delivery.retries == 1, "{delivery}");
        let seen = server.seen();
        let waited = seen[1].at - seen[0].at;
        assert!(waited >= Duration::from_millis(least), "{waited:?}");
    }
}

#[test]
fn a_wait_that_is_too_long_is_not_waited_for() {
    let server =
        Server::start(None, |_| Reply::Status(503, vec![("retry-after", "3600".into())], "maintenance"));
    let config = Config { give_up_after: Duration::from_secs(600), ..server.config(Protocol::HttpProtobuf) };
    let begun = Instant::now();
    let delivery = send(config, 4);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!((delivery.acknowledged, delivery.failed + delivery.dropped), (0, 400), "{delivery}");
    let text = messages(&delivery)[0].1;
    assert!(text.starts_with("HTTP 503 Service Unavailable: maintenance (given up after 1 try in"), "{text}");
    assert!(text.ends_with("the server asks to wait 3600 s more)"), "{text}");
}

#[test]
fn a_wait_is_not_waited_for_when_the_recording_has_ended_meanwhile() {
    let server =
        Server::start(None, |_| Reply::Status(503, vec![("retry-after", "3600".into())], "maintenance"));
    let config = Config { give_up_after: Duration::from_secs(600), ..server.config(Protocol::HttpProtobuf) };
    let options = SpanOptions { limits: Limits { spans: 1, ..Limits::default() }, ..SpanOptions::default() };
    let (mut spool, sending) = sink(config, options).unwrap();
    spool.write_all(&simple("main{ 10 step{ 10 } }")).unwrap();
    while sending.delivery().retries == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    drop(spool);
    let delivery = sending.wait();
    assert!(begun.elapsed() < Duration::from_secs(60));
    check(&delivery);
    assert_eq!((delivery.acknowledged, delivery.failed + delivery.dropped), (0, 2), "{delivery}");
    let failed = messages(&delivery).into_iter().find(|(about, _)| *about == About::Failed).unwrap().1;
    assert!(failed.contains("given up after 1 try"), "{failed}");
}

#[test]
fn waits_grow() {
    let server =
        Server::start(None, |n| if n < 6 { Reply::Status(503, Vec::new(), "") } else { Reply::Accept });
    let delivery = send(server.config(Protocol::HttpProtobuf), 1);
    assert!(delivery.is_complete(), "{delivery}");
    let seen = server.seen();
    let waits: Vec<_> = seen.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    // 20 ms, 40, 80, 160, 320, 640, each give or take a fifth; never less.
    for (n, wait) in waits.iter().enumerate() {
        assert!(*wait >= Duration::from_millis(16 << n), "{waits:?}");
    }
}

#[test]
fn a_partial_success_is_told_with_the_server_s_message() {
    for protocol in BOTH {
        let server = Server::start(None, |n| match n {
            1 => Reply::Partial(7, "too old"),
            2 => Reply::Partial(0, "slow down"),
            _ => Reply::Accept,
        });
        let delivery = send(server.config(protocol), 5);
        assert_eq!((delivery.acknowledged, delivery.rejected, delivery.failed), (493, 7, 0), "{delivery}");
        assert!(!delivery.is_complete());
        let mut messages = messages(&delivery);
        messages.sort_by_key(|(_, text)| *text);
        assert_eq!(messages, [(About::Warning, "slow down"), (About::Rejected, "too old")]);
        // It is not sent again.
        assert_eq!(server.seen().len(), 5);
    }
}

#[test]
fn a_server_that_is_not_there_ends_it_when_the_time_is_over() {
    for protocol in BOTH {
        // Bound, so that nobody else is given the port, but not listening.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let config = config(socket.local_addr().unwrap(), protocol);
        let config = Config { give_up_after: Duration::from_secs(3), ..config };
        let begun = Instant::now();
        let delivery = send(config, 300);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!((delivery.acknowledged, delivery.failed + delivery.dropped), (0, 30_000), "{delivery}");
        let failed = messages(&delivery).into_iter().find(|(about, _)| *about == About::Failed).unwrap().1;
        assert!(failed.contains("Connection refused") && failed.contains("given up after"), "{failed}");
        assert!(delivery.retries > 1, "{delivery}");
    }
}

#[test]
fn a_server_that_never_answers_does_not_hang_it() {
    for protocol in BOTH {
        let server = Server::start(None, |_| Reply::Silence);
        let config = Config {
            timeout: Duration::from_millis(200),
            give_up_after: Duration::from_millis(700),
            ..server.config(protocol)
        };
        let begun = Instant::now();
        let delivery = send(config, 3);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!((delivery.acknowledged, delivery.failed + delivery.dropped), (0, 300), "{delivery}");
        assert!(messages(&delivery)[0].1.starts_with("no answer in 200"), "{delivery}");
    }
}

#[test]
fn a_connection_that_is_cut_is_opened_again() {
    for protocol in BOTH {
        let server = Server::start(None, |n| if n % 3 == 1 { Reply::Cut } else { Reply::Accept });
        let delivery = send(server.config(protocol), 20);
        assert!(delivery.is_complete(), "{protocol}\n{delivery}");
        assert!(delivery.retries > 0 && distinct(&server) == 20, "{protocol}\n{delivery}");
    }
}

#[test]
fn a_sending_that_is_stopped_says_what_was_acknowledged() {
    let server =
        Server::start(None, |n| if n < 10 { Reply::Accept } else { Reply::Status(503, Vec::new(), "full") });
    let config = Config { give_up_after: Duration::from_secs(600), ..server.config(Protocol::HttpProtobuf) };
    let sending = start(config, 40);
    let stopper = sending.stopper();
    while sending.delivery().retries == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    stopper.stop();
    let delivery = sending.wait();
    assert!(begun.elapsed() < Duration::from_secs(60));
    check(&delivery);
    assert_eq!((delivery.acknowledged, delivery.whole), (1000, false), "{delivery}");
}

#[test]
fn a_source_that_fails_is_told_and_what_it_gave_is_sent() {
    use kperf_otlp::exporter::{BoxError, Source, SourceProgress};
    struct Broken(Numbered);
    impl Source for Broken {
        fn next_request(&mut self) -> Result<Option<kperf_otlp::Request>, BoxError> {
            match self.0.next_request()? {
                Some(request) => Ok(Some(request)),
                None => Err("the disk is gone".into()),
            }
        }
        fn progress(&mut self) -> SourceProgress {
            self.0.progress()
        }
    }
    let server = Server::start(None, |_| Reply::Accept);
    let open = || Ok(Broken(Numbered { next: 0, count: 3 }));
    let delivery = Sending::start(server.config(Protocol::HttpProtobuf), open).unwrap().wait();
    check(&delivery);
    assert_eq!((delivery.acknowledged, delivery.whole, delivery.is_complete()), (300, false, false));
    assert_eq!(messages(&delivery), [(About::Trace, "the disk is gone")]);
}

#[test]
fn waiting_works_in_any_program() {
    let server = Server::start(None, |_| Reply::Accept);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let delivery = start(server.config(Protocol::HttpProtobuf), 5).wait_async().await;
        assert_eq!(delivery.acknowledged, 500);
        // It blocks the thread, but it doesn't panic.
        assert_eq!(start(server.config(Protocol::Grpc), 5).wait().acknowledged, 500);
    });
}

#[test]
fn a_configuration_that_can_not_work_is_an_error_in_any_program() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for protocol in BOTH {
            let base = config((Ipv4Addr::LOCALHOST, 1).into(), protocol);
            for config in [
                Config { certificate: Some("there is no such file".into()), ..base.clone() },
                Config { headers: vec![("no name".into(), "value".into())], ..base },
            ] {
                let open = || Ok(Numbered { next: 0, count: 1 });
                assert!(Sending::start(config.clone(), open).is_err());
                assert!(sink(config, SpanOptions::default()).is_err());
            }
        }
    });
}

/// A window of a profile is sent when it has ended, and again until somebody takes it.
#[test]
fn windows_are_sent_while_the_profile_grows() {
    let server =
        Server::start(None, |n| if n == 0 { Reply::Status(503, Vec::new(), "") } else { Reply::Accept });
    let config = server.config(Protocol::HttpProtobuf);
    let (spool, sending) = profile_sink(config, ProfileOptions::default()).unwrap();
    let mut writer = TraceWriter::new(spool, &Header::default()).unwrap();
    for (n, self_ticks) in [(0, 1_000), (1, 20_000)] {
        let node = WindowNode { parent: None, func: FuncId(0), samples: 1, self_ticks };
        let (start_ticks, end_ticks) = (n * 1_000_000, (n + 1) * 1_000_000);
        let calls = vec![(FuncId(0), 3 + n)];
        writer
            .window(&Window { start_ticks, end_ticks, nodes: vec![node], calls, ..Window::default() })
            .unwrap();
        while sending.delivery().acknowledged <= 2 * n {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    writer.finish(&Summary::default()).unwrap();
    let delivery = sending.wait();
    assert!(delivery.is_complete() && delivery.acknowledged == 4 && delivery.retries == 1, "{delivery}");
    let taken: Vec<_> = server.seen().into_iter().skip(1).collect();
    let told: Vec<_> = taken
        .iter()
        .map(|seen| {
            let request = ExportProfilesServiceRequest::decode(&seen.body[..]).unwrap();
            let profiles = &request.resource_profiles[0].scope_profiles[0].profiles;
            let values = profiles.iter().map(|profile| profile.samples[0].values[0]).collect::<Vec<_>>();
            (profiles[0].duration_nano, values)
        })
        .collect();
    assert_eq!(told, [(1_000_000, vec![1_000, 3]), (1_000_000, vec![20_000, 4])]);
}

/// A proxy's page, or an app's: nobody has taken the spans.
#[test]
fn an_answer_that_is_no_otlp_message_is_no_acknowledgement() {
    let html = vec![("content-type", "text/html; charset=utf-8".to_owned())];
    let protobuf = vec![("content-type", "application/x-protobuf".to_owned())];
    for (headers, text, acknowledged) in [
        (html, "<title>Sign in</title>", 0),
        (protobuf, "garbage", 0),
        (Vec::new(), "", 500),
        (Vec::new(), "ok", 500),
    ] {
        let server = Server::start(None, move |_| Reply::Status(200, headers.clone(), text));
        let delivery = send(server.config(Protocol::HttpProtobuf), 5);
        assert_eq!(delivery.acknowledged, acknowledged, "{text}: {delivery}");
        assert_eq!(delivery.is_complete(), acknowledged > 0);
        let told = messages(&delivery);
        let is_told = told.iter().any(|(_, messages)| messages.starts_with("the answer is no OTLP message"));
        assert_eq!(is_told, acknowledged == 0, "{told:?}");
        // Nothing is tried again.
        assert_eq!(delivery.retries, 0);
    }
}
