//! Components that answer HTTP requests: `run --http`, asked by real clients.

use crate::common::command::{command, output};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full, combinators::BoxBody};
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// What it said, and what its trace tells.
struct Ended {
    folder: TempDir,
    stderr: String,
    info: Value,
    report: Value,
}

struct Server {
    folder: Option<TempDir>,
    child: Child,
    address: String,
    stderr: Option<JoinHandle<String>>,
}

/// A handler of WASI 0.2, and one of 0.3.
const HANDLERS: [&str; 2] = ["http.wasm", "service.wasm"];

fn handler(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/components").join(name)
}

impl Server {
    fn new(flags: &[&str]) -> Server {
        Server::of("http.wasm", flags)
    }

    fn of(name: &str, flags: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(&folder, &["run"]);
        command.arg(handler(name)).args(["--http", "127.0.0.1:0", "--trace", "t.kperf"]).args(flags);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (mut said, mut address) = (String::new(), None);
        while address.is_none() {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            address = line.split_once("answering at http://").map(|(_, rest)| rest.to_owned());
            said.push_str(&line);
        }
        let address = address.unwrap().split('/').next().unwrap().to_owned();
        let stderr = std::thread::spawn(move || {
            lines.read_to_string(&mut said).unwrap();
            said
        });
        Server { folder: Some(folder), child, address, stderr: Some(stderr) }
    }

    /// Asks, with one client for all requests.
    async fn ask(&self, client: &Asker, path: &str, headers: &[(&str, &str)]) -> Response<Incoming> {
        let mut request = Request::get(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        client.request(request.body(Empty::new().boxed()).unwrap()).await.unwrap()
    }

    /// Ends it as Ctrl-C does.
    fn end(mut self) -> Ended {
        let interrupted = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(interrupted.unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        let stderr = self.stderr.take().unwrap().join().unwrap();
        let folder = self.folder.take().unwrap();
        let json = |args: &[&str]| {
            let ran = output(&folder, args);
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            serde_json::from_slice::<Value>(&ran.stdout).unwrap()
        };
        let info = json(&["info", "t.kperf", "--format", "json"]);
        assert_eq!(info["lost_events"], 0, "{info}");
        let cut = info["cut_short"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        if info["sampling"].is_null() {
            let ends = info["leaves"].as_u64().unwrap() + cut;
            assert_eq!(info["calls"].as_u64(), Some(ends), "every call has its end");
        }
        let report = json(&["report", "t.kperf", "--format", "json"]);
        Ended { folder, stderr, info, report }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Asker = Client<HttpConnector, BoxBody<Bytes, std::convert::Infallible>>;

fn client() -> Asker {
    Client::builder(TokioExecutor::new()).build_http()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn calls(report: &Value, name: &str) -> u64 {
    let functions = report["functions"].as_array().unwrap().iter();
    let mut named = functions.filter(|function| function["name"].as_str().unwrap().contains(name));
    named.next().map_or(0, |function| function["calls"].as_u64().unwrap())
}

#[test]
fn requests_are_answered_each_by_an_instance() {
    let server = Server::new(&["--clock", "precise"]);
    block_on(async {
        let client = client();
        let hello = server.ask(&client, "/", &[]).await;
        assert_eq!(hello.status(), StatusCode::OK);
        assert_eq!(hello.headers()["x-handler"], "rust");
        assert_eq!(text(hello).await, "hello\n");
        assert_eq!(text(server.ask(&client, "/fibonacci/15", &[]).await).await, "610\n");
        let headers = text(server.ask(&client, "/headers", &[("x-wish", "tea")]).await).await;
        assert!(headers.contains("x-wish: tea\n"), "{headers}");
        assert_eq!(server.ask(&client, "/nothing", &[]).await.status(), StatusCode::NOT_FOUND);
        // Bodies are streamed, both ways.
        let lines = text(server.ask(&client, "/count/3000", &[]).await).await;
        assert_eq!(lines.lines().count(), 3000);
        let long = Bytes::from(vec![b'x'; 1 << 20]);
        let request = Request::post(format!("http://{}/echo", server.address));
        let echo = client.request(request.body(Full::new(long.clone()).boxed()).unwrap()).await.unwrap();
        assert_eq!(echo.into_body().collect().await.unwrap().to_bytes(), long);
    });
    let Ended { info, report, .. } = server.end();
    assert_eq!(calls(&report, "fibonacci"), 987);
    assert_eq!(info["outcome"], "interrupted by SIGINT");
    assert_eq!(info["cut_short"], serde_json::json!({}));
}

/// In each way of recording.
#[test]
fn handlers_of_wasi_0_3_answer_too() {
    let mut counted = Vec::new();
    for record in
        [["--clock", "ticker"], ["--clock", "precise"], ["--clock", "instructions"], ["--record", "profile"]]
    {
        let server = Server::of("service.wasm", &record);
        block_on(async {
            let client = client();
            assert_eq!(text(server.ask(&client, "/", &[]).await).await, "hello\n");
            assert_eq!(text(server.ask(&client, "/fibonacci/15", &[]).await).await, "610\n");
            assert_eq!(server.ask(&client, "/nothing", &[]).await.status(), StatusCode::NOT_FOUND);
            let lines = text(server.ask(&client, "/count/300", &[]).await).await;
            assert_eq!(lines.lines().count(), 300);
            let long = Bytes::from(vec![b'x'; 10_000]);
            let request = Request::post(format!("http://{}/echo", server.address));
            let echo = client.request(request.body(Full::new(long.clone()).boxed()).unwrap()).await.unwrap();
            assert_eq!(echo.into_body().collect().await.unwrap().to_bytes(), long);
            let failed = server.ask(&client, "/error", &[]).await;
            assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR);
        });
        let Ended { stderr, report, .. } = server.end();
        let told = "error: GET /error: it answers with the error ErrorCode::InternalError(";
        assert!(stderr.contains(told), "{stderr}");
        let functions = report["functions"].as_array().unwrap().iter();
        let mut edge = functions.filter(|f| f["name"].as_str().unwrap().starts_with("wasi:http/handler@0.3"));
        let edge = edge.next().map_or(0, |f| f["calls"].as_u64().unwrap());
        counted.push((calls(&report, "service::fibonacci"), edge));
    }
    assert_eq!(counted, [(987, 6); 4]);
}

#[test]
fn a_trap_is_a_500_and_stands_in_the_trace() {
    HANDLERS.into_iter().for_each(a_trap_is_a_500_and_stands_in_the_trace_of);
}

fn a_trap_is_a_500_and_stands_in_the_trace_of(name: &str) {
    let server = Server::of(name, &[]);
    block_on(async {
        let client = client();
        for path in ["/panic", "/never"].into_iter().take(if name == "http.wasm" { 2 } else { 1 }) {
            let failed = server.ask(&client, path, &[]).await;
            assert_eq!(failed.status(), StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        }
        // The answer has begun, so all that can be said is that it is not whole.
        let late =
            Request::get(format!("http://{}/late", server.address)).body(Empty::new().boxed()).unwrap();
        if let Ok(late) = client.request(late).await {
            assert_eq!(late.status(), StatusCode::OK);
            assert!(late.into_body().collect().await.is_err());
        }
        assert_eq!(text(server.ask(&client, "/", &[]).await).await, "hello\n");
    });
    let Ended { stderr, info, .. } = server.end();
    assert!(stderr.contains("error: GET /panic: wasm trap: ") && stderr.contains("abort"), "{stderr}");
    assert!(stderr.contains("error: GET /late: wasm trap: "), "{stderr}");
    assert!(info["cut_short"]["trap"].as_u64() > Some(10), "{info}");
}

#[test]
fn spans_are_below_the_request_s_parent() {
    HANDLERS.into_iter().for_each(spans_are_below_the_request_s_parent_of);
}

fn spans_are_below_the_request_s_parent_of(name: &str) {
    let server = Server::of(name, &[]);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    block_on(async {
        let client = client();
        for (parent, flags) in [("b7ad6b7169203331", "01"), ("b7ad6b7169203332", "00")] {
            let header = format!("00-{trace}-{parent}-{flags}");
            let asked = server.ask(&client, "/fibonacci/5", &[("traceparent", header.as_str())]).await;
            assert_eq!(text(asked).await, "5\n");
        }
        let asked = server.ask(&client, "/fibonacci/5", &[("traceparent", "nonsense")]).await;
        assert_eq!(text(asked).await, "5\n");
    });
    let Ended { folder, report, .. } = server.end();
    assert_eq!(calls(&report, "fibonacci"), 16, "those of a parent that isn't sampled are left out");
    let exported = output(&folder, &["export", "t.kperf", "--format", "otlp-json", "-o", "-"]);
    let spans = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(spans.contains(trace) && spans.contains("b7ad6b7169203331"), "{spans}");
    assert!(!spans.contains("b7ad6b7169203332"));
}

#[test]
fn a_thousand_requests_at_once_are_all_answered() {
    HANDLERS.into_iter().for_each(a_thousand_requests_at_once_are_all_answered_by);
}

fn a_thousand_requests_at_once_are_all_answered_by(name: &str) {
    let server = Server::of(name, &[]);
    block_on(async {
        let client = client();
        let all = (0..1000).map(|_| async { text(server.ask(&client, "/fibonacci/10", &[]).await).await });
        // 100 at a time: a client has so many files open at most, say.
        let mut all: Vec<_> = all.collect();
        while !all.is_empty() {
            let some = all.split_off(all.len().saturating_sub(100));
            for answer in futures_of(some).await {
                assert_eq!(answer, "55\n");
            }
        }
    });
    let Ended { info, report, .. } = server.end();
    assert_eq!(calls(&report, "fibonacci"), 89_000);
    assert_eq!(info["cut_short"], serde_json::json!({}));
}

/// Runs futures beside each other.
async fn futures_of<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut all = true;
        for (future, result) in &mut futures {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *result = Some(value),
                    std::task::Poll::Pending => all = false,
                }
            }
        }
        if all { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    futures.into_iter().filter_map(|(_, result)| result).collect()
}

#[test]
fn clients_that_are_slow_or_go_away_disturb_nobody() {
    HANDLERS.into_iter().for_each(clients_that_are_slow_or_go_away_disturb_nobody_at);
}

fn clients_that_are_slow_or_go_away_disturb_nobody_at(name: &str) {
    let server = Server::of(name, &[]);
    let connect = |head: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    // They send half a head, half a body, read a part of a long answer, or nothing of it.
    let half_head = connect("GET / HTTP/1.1\r\nHost: a");
    let half_body = connect("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc");
    let mut half_answer = connect("GET /count/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    half_answer.read_exact(&mut [0; 1000]).unwrap();
    let no_answer = connect("GET /count/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let no_host = connect("GET / HTTP/1.0\r\n\r\n");
    let garbage = connect("\u{0}\u{1}\u{2}\r\n\r\n");
    block_on(async {
        let client = client();
        assert_eq!(text(server.ask(&client, "/", &[]).await).await, "hello\n");
        drop((half_head, half_body, half_answer, no_host, garbage));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(text(server.ask(&client, "/fibonacci/10", &[]).await).await, "55\n");
    });
    // The one that doesn't read is still there when it ends.
    let info = server.end().info;
    assert!(info["calls"].as_u64().unwrap() > 89);
    drop(no_answer);
}

#[test]
fn what_can_t_answer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let command = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/components/command.wasm");
    std::fs::write(folder.path().join("module.wat"), "(module (func (export \"_start\")))").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (handler, command) = (handler("http.wasm"), command.to_str().unwrap().to_owned());
    let handler = handler.to_str().unwrap();
    for (args, error) in [
        ([command.as_str(), "--http", "127.0.0.1:0"], "exports neither `wasi:http/incoming-handler`"),
        (["module.wat", "--http", "127.0.0.1:0"], "`module.wat` is a module"),
        ([handler, "--http", "nowhere:x"], "the address of --http"),
        ([handler, "--http", &taken], "failed to listen at"),
        ([handler, "-q", "--plain"], "with --http ADDRESS"),
    ] {
        let ran = output(&folder, &[&["run"], &args[..]].concat());
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code() == Some(1) && stderr.contains(error), "{args:?}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no trace is left");
}

/// Each request has an instance of its own, so the samples of its profile are below its parent.
#[test]
fn samples_of_a_profile_link_to_the_parent_of_their_request() {
    let server = Server::new(&["--record", "profile", "--period", "200us"]);
    let spans = ["b7ad6b7169203331", "b7ad6b7169203332"];
    block_on(async {
        let client = client();
        for span in spans {
            let parent = format!("00-0af7651916cd43dd8448eb211c80319c-{span}-01");
            let answer = server.ask(&client, "/fibonacci/25", &[("traceparent", &parent)]).await;
            assert_eq!(text(answer).await, "75025\n");
        }
        assert_eq!(text(server.ask(&client, "/fibonacci/15", &[]).await).await, "610\n");
    });
    let Ended { folder, .. } = server.end();
    let args = ["export", "t.kperf", "--profiles", "--format", "otlp-json", "-o", "t.json"];
    assert!(output(&folder, &args).status.success());
    let data: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let dictionary = &data["dictionary"];
    let at = |table: &str, index: &Value| dictionary[table][index.as_u64().unwrap_or(0) as usize].clone();
    let mut calls = std::collections::BTreeMap::new();
    for profile in data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"].as_array().unwrap() {
        if at("stringTable", &profile["sampleType"]["typeStrindex"]) != "calls" {
            continue;
        }
        for sample in profile["samples"].as_array().unwrap() {
            let stack = at("stackTable", &sample["stackIndex"]);
            let location = at("locationTable", &stack["locationIndices"][0]);
            let function = at("functionTable", &location["lines"][0]["functionIndex"]);
            if at("stringTable", &function["nameStrindex"]).as_str().unwrap().contains("fibonacci") {
                let link = at("linkTable", &sample["linkIndex"]);
                let value: u64 = sample["values"][0].as_str().unwrap().parse().unwrap();
                *calls.entry(link["spanId"].as_str().unwrap_or_default().to_owned()).or_insert(0) += value;
            }
        }
    }
    assert_eq!(calls.remove(spans[0]), Some(121_393), "{calls:?}");
    assert_eq!(calls.remove(spans[1]), Some(121_393), "{calls:?}");
    // The last request said no parent.
    assert_eq!(calls.into_values().collect::<Vec<_>>(), [987]);
}
