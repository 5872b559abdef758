//! A server that answers as a test wants it, over HTTP and gRPC: what a real Collector can't be made to do on demand.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part")]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use kperf_otlp::Request as Spans;
use kperf_otlp::exporter::{BoxError, Config, Delivery, Protocol, Sending, Source, SourceProgress};
use prost::Message;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// What a server does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Accept,
    /// Accepts but for so many spans.
    Partial(i64, &'static str),
    /// An HTTP status, with headers and a text.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// Accepts requests of so many bytes, and says of larger ones that they are too large, as servers do.
    UpTo(usize),
    /// A gRPC status, with the milliseconds of its RetryInfo.
    Grpc(i32, &'static str, Option<u64>),
    /// Never answers.
    Silence,
    /// Cuts the connection.
    Cut,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: HeaderMap,
    /// As it came: for gRPC with the five bytes in front.
    pub body: Bytes,
    pub at: Instant,
    /// Which connection it came by.
    pub peer: SocketAddr,
}

pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// When this goes, the server does.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Answers = Arc<dyn Fn(usize) -> Reply + Send + Sync>;

impl Server {
    /// Answers the first request with `reply(0)`, and so on.
    pub fn start(tls: Option<TlsAcceptor>, reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Server {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, answers): (_, Answers) = (seen.clone(), Arc::new(reply));
        runtime.spawn(async move {
            while let Ok((stream, peer)) = listener.accept().await {
                let (tls, all, answers) = (tls.clone(), all.clone(), answers.clone());
                tokio::spawn(async move {
                    let service =
                        service_fn(move |request| serve(request, peer, all.clone(), answers.clone()));
                    let builder = Builder::new(TokioExecutor::new());
                    // An error is how a connection ends that is cut.
                    let _ = match tls {
                        None => builder.serve_connection(TokioIo::new(stream), service).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => builder.serve_connection(TokioIo::new(stream), service).await,
                            Err(_) => Ok(()),
                        },
                    };
                });
            }
        });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || runtime.block_on(stopped).unwrap_or(()));
        Server { address, seen, stop: Some(stop), thread: Some(thread) }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How to reach it, with waits that suit a test.
    pub fn config(&self, protocol: Protocol) -> Config {
        config(self.address, protocol)
    }
}

/// How to reach a server, with waits that suit a test.
pub fn config(address: SocketAddr, protocol: Protocol) -> Config {
    let path = if protocol == Protocol::Grpc { "" } else { "/v1/traces" };
    Config {
        protocol,
        endpoint: format!("http://{address}{path}").parse().unwrap(),
        first_wait: Duration::from_millis(20),
        give_up_after: Duration::from_secs(10),
        timeout: Duration::from_secs(5),
        ..Config::default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

type Body = BoxBody<Bytes, Infallible>;

async fn serve(
    request: Request<Incoming>,
    peer: SocketAddr,
    all: Arc<Mutex<Vec<Seen>>>,
    answers: Answers,
) -> Result<Response<Body>, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let is_grpc = parts
        .headers
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    let length = body.len();
    let number = {
        let mut all = all.lock().unwrap();
        let path = parts.uri.path().to_owned();
        all.push(Seen { path, headers: parts.headers, body, at: Instant::now(), peer });
        all.len() - 1
    };
    let reply = match answers(number) {
        Reply::UpTo(limit) if length <= limit => Reply::Accept,
        Reply::UpTo(_) if is_grpc && number % 2 == 0 => {
            Reply::Grpc(8, "grpc: received message larger than max (9 vs. 8)", None)
        }
        Reply::UpTo(_) if is_grpc => Reply::Grpc(11, "decoded message length too large: found 9 bytes", None),
        Reply::UpTo(_) => Reply::Status(413, Vec::new(), ""),
        reply => reply,
    };
    let response = match reply {
        Reply::Silence => std::future::pending().await,
        Reply::Cut => return Err(std::io::Error::other("cut")),
        Reply::Accept | Reply::UpTo(_) => accepted(is_grpc, &[]),
        Reply::Partial(rejected, words) => {
            use kperf_otlp::proto::collector::trace::v1::{
                ExportTracePartialSuccess, ExportTraceServiceResponse,
            };
            let partial = ExportTracePartialSuccess { rejected_spans: rejected, error_message: words.into() };
            accepted(is_grpc, &ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec())
        }
        Reply::Status(status, headers, text) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Full::new(Bytes::from(text)).boxed()).unwrap()
        }
        Reply::Grpc(code, message, retry) => {
            let mut response = Response::builder()
                .header("content-type", "application/grpc")
                .header("grpc-status", code.to_string())
                .header("grpc-message", message);
            if let Some(millis) = retry {
                use tonic_types::StatusExt;
                let details = tonic_types::ErrorDetails::with_retry_info(Some(Duration::from_millis(millis)));
                let status = tonic::Status::with_error_details(code.into(), message, details);
                let mut headers = HeaderMap::new();
                status.add_header(&mut headers).unwrap();
                response = response.header("grpc-status-details-bin", &headers["grpc-status-details-bin"]);
            }
            response.body(Full::new(Bytes::new()).boxed()).unwrap()
        }
    };
    Ok(response)
}

fn accepted(is_grpc: bool, message: &[u8]) -> Response<Body> {
    if !is_grpc {
        let body = Full::new(Bytes::copy_from_slice(message)).boxed();
        return Response::builder().header("content-type", "application/x-protobuf").body(body).unwrap();
    }
    let mut framed = vec![0];
    framed.extend((message.len() as u32).to_be_bytes());
    framed.extend(message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(framed)).with_trailers(async { Some(Ok(trailers)) });
    Response::builder().header("content-type", "application/grpc").body(body.boxed()).unwrap()
}

/// Requests of a hundred spans each, whose bytes are their number.
pub struct Numbered {
    pub next: u64,
    pub count: u64,
}

impl Source for Numbered {
    fn next_request(&mut self) -> Result<Option<Spans>, BoxError> {
        if self.next == self.count {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(Spans { body: (self.next - 1).to_be_bytes().repeat(100), spans: 100 }))
    }

    fn progress(&mut self) -> SourceProgress {
        SourceProgress { elided: self.next, trace_bytes: self.next * 10 }
    }
}

/// Sends so many requests, and waits.
pub fn send(config: Config, count: u64) -> Delivery {
    let delivery = start(config, count).wait();
    check(&delivery);
    delivery
}

pub fn start(config: Config, count: u64) -> Sending {
    Sending::start(config, move || Ok(Numbered { next: 0, count })).unwrap()
}

/// What always holds.
pub fn check(delivery: &Delivery) {
    let Delivery { expected, elided, attempted, acknowledged, rejected, failed, dropped, .. } = delivery;
    assert_eq!(*attempted, acknowledged + rejected + failed, "{delivery}");
    assert_eq!(*expected, elided + attempted + dropped, "{delivery}");
}
