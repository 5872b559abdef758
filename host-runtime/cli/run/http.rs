//! Components that answer HTTP requests (`wasi:http`): a new instance for each request, as in `wasmtime serve`.

mod service;

use super::guest::Guest;
use super::names::Names;
use super::outcome::Outcome;
use super::program::Program;
use super::wasi::WasiArgs;
use crate::shared::output;
use anyhow::{Context, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use kperf_abi::SymbolTable;
use kperf_trace::TraceContext;
use kperf_wasi::{Interfaces, StoreData};
use kperf_wasmtime::Recorder;
use std::convert::Infallible;
use std::net::TcpListener;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{self, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wasmtime::component::{Component, Linker};
use wasmtime::{AsContextMut, Engine, Store};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::p3::bindings::ServicePre;

/// What a handler exports, without the rest of its version: of WASI 0.2, and of 0.3.
const HANDLER: &str = "wasi:http/incoming-handler@0.2.";
const SERVICE: &str = "wasi:http/handler@0.3.";
/// How many requests are answered at once. Others wait for their turn.
const MAX_CONCURRENT: usize = 1000;
/// How long a client may take to send the head of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// The first failures print the open functions; later ones only the message.
const MAX_BACKTRACES: usize = 10;

/// A component that is ready to answer requests.
pub struct HttpProgram {
    engine: Engine,
    component: Component,
    linker: Linker<StoreData>,
    listener: Option<TcpListener>,
    config: Arc<InstanceConfig>,
    recorder: Option<Recorder>,
    /// Whether it is a handler of WASI 0.3.
    is_service: bool,
    quiet: bool,
}

/// What each instance sees.
struct InstanceConfig {
    path: PathBuf,
    args: Vec<String>,
    wasi: WasiArgs,
    names: Names,
}

impl HttpProgram {
    /// Compiles a component, and listens at `address`.
    pub fn new(
        engine: Engine,
        guest: &Guest,
        wasi: &WasiArgs,
        args: &[String],
        address: &str,
        quiet: bool,
    ) -> anyhow::Result<HttpProgram> {
        let path = &guest.path;
        let component = Component::new(&engine, &guest.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", path.display()))?;
        let exports =
            |wanted| component.component_type().exports(&engine).any(|(name, _)| name.starts_with(wanted));
        let is_service = exports(SERVICE);
        if !is_service && !exports(HANDLER) {
            bail!(
                "`{}` answers no HTTP requests: it exports neither `wasi:http/incoming-handler` of WASI 0.2 nor `wasi:http/handler` of \
                 0.3; remove --http",
                path.display()
            );
        }
        let linker =
            kperf_wasi::async_linker(&engine, Interfaces { wasi_0_3: guest.is_concurrent(), http: true })?;
        let listener = TcpListener::bind(address)
            .with_context(|| format!("failed to listen at `{address}`, the address of --http"))?;
        listener.set_nonblocking(true).context("failed to listen")?;
        let config = InstanceConfig {
            path: path.to_owned(),
            args: args.to_owned(),
            wasi: wasi.clone(),
            names: Names::of(guest),
        };
        // Wrong flags fail before the first request.
        config.state()?;
        Ok(HttpProgram {
            engine,
            component,
            linker,
            listener: Some(listener),
            config: Arc::new(config),
            recorder: None,
            is_service,
            quiet,
        })
    }
}

impl Program for HttpProgram {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn link(&mut self, recorder: &Recorder, guest: &Guest) -> anyhow::Result<()> {
        if guest.probes.is_some() {
            recorder.add_to_component_linker(&mut self.linker)?;
        }
        self.recorder = Some(recorder.clone());
        Ok(())
    }

    fn perf_map(&self, tables: &[SymbolTable]) -> kperf_wasmtime::Result<()> {
        let tables: Vec<_> = tables.iter().map(SymbolTable::to_bytes).collect();
        Recorder::perf_map_component(&self.component, tables.iter().map(Vec::as_slice))
    }

    /// Answers requests, until a signal ends the process.
    fn run(&mut self) -> wasmtime::Result<()> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let pre = self.linker.instantiate_pre(&self.component)?;
        let pre = if self.is_service {
            Pre::Service(ServicePre::new(pre)?)
        } else {
            Pre::Proxy(ProxyPre::new(pre)?)
        };
        let server = Arc::new(Server {
            engine: self.engine.clone(),
            pre,
            config: self.config.clone(),
            recorder: self.recorder.clone(),
            places: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            failures: AtomicUsize::new(0),
            quiet: self.quiet,
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let address = listener.local_addr()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            if !self.quiet {
                output::status(format_args!("answering at http://{address}/ (end it with Ctrl-C)"));
            }
            server.take_connections(listener).await
        })
    }
}

impl InstanceConfig {
    fn state(&self) -> anyhow::Result<StoreData> {
        let mut wasi = self.wasi.builder(&self.path, &self.args)?;
        // Others are answered by the same thread.
        wasi.allow_blocking_current_thread(false);
        Ok(StoreData::new(wasi.build()))
    }
}

/// A handler that is ready to be instantiated.
enum Pre {
    /// Of WASI 0.2.
    Proxy(ProxyPre<StoreData>),
    /// Of WASI 0.3.
    Service(ServicePre<StoreData>),
}

impl Pre {
    /// Answers a request in a new instance.
    async fn answer(
        &self,
        store: &mut impl AsContextMut<Data = StoreData>,
        request: Request<Incoming>,
        sender: oneshot::Sender<Result<Response<HyperOutgoingBody>, ErrorCode>>,
    ) -> wasmtime::Result<()> {
        match self {
            Pre::Proxy(pre) => {
                let mut view = store.as_context_mut();
                let request = view.data_mut().http().new_incoming_request(Scheme::Http, request)?;
                let out = view.data_mut().http().new_response_outparam(sender)?;
                let proxy = pre.instantiate_async(&mut view).await?;
                proxy.wasi_http_incoming_handler().call_handle(&mut view, request, out).await
            }
            Pre::Service(pre) => service::answer(store, pre, request, sender).await,
        }
    }
}

/// What all requests share.
struct Server {
    engine: Engine,
    pre: Pre,
    config: Arc<InstanceConfig>,
    recorder: Option<Recorder>,
    places: Arc<Semaphore>,
    failures: AtomicUsize,
    quiet: bool,
}

impl Server {
    async fn take_connections(self: Arc<Self>, listener: tokio::net::TcpListener) -> wasmtime::Result<()> {
        let mut is_reported = false;
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // There may be too many open files, for example, which is soon over.
                    if !std::mem::replace(&mut is_reported, true) {
                        output::error(format_args!("failed to take a connection: {error}"));
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            is_reported = false;
            let server = self.clone();
            tokio::spawn(async move {
                let answer = move |request| {
                    let server = server.clone();
                    async move { Ok::<_, Infallible>(server.answer(request).await) }
                };
                // A client may go away in the middle of an answer.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            });
        }
    }

    /// Answers a request with a new instance, which may run on after its response has begun.
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<HyperOutgoingBody> {
        let Ok(place) = self.places.clone().acquire_owned().await else {
            return failed(StatusCode::SERVICE_UNAVAILABLE);
        };
        let what = format!("{} {}", request.method(), request.uri().path().escape_debug());
        let (sender, receiver) = oneshot::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let handling = match self.config.state() {
            Ok(state) => self.clone().handle(place, state, request, sender, has_failed.clone()),
            Err(error) => {
                self.report_failure(&what, &format!("{error:#}"));
                return failed(StatusCode::INTERNAL_SERVER_ERROR);
            }
        };
        let (server, of) = (self.clone(), what.clone());
        tokio::spawn(async move {
            let result = handling.await;
            if let Err(error) = result {
                let with_frames = server.failures.load(Ordering::Relaxed) < MAX_BACKTRACES;
                let message = if with_frames {
                    Outcome::of(&Err(error), || &server.config.names).message()
                } else {
                    error.root_cause().to_string()
                };
                server.report_failure(&of, &message);
            }
        });
        match receiver.await {
            Ok(Ok(response)) => response.map(|body| Whole { body, has_failed }.boxed_unsync()),
            Ok(Err(code)) => {
                let code = match code {
                    ErrorCode::InternalError(Some(text)) => text,
                    code => format!("{code:?}"),
                };
                self.report_failure(&what, &format!("it answers with the error {}", code.escape_debug()));
                failed(StatusCode::INTERNAL_SERVER_ERROR)
            }
            // Its call ended without a response.
            Err(_) => failed(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    async fn handle(
        self: Arc<Self>,
        _place: OwnedSemaphorePermit,
        state: StoreData,
        request: Request<Incoming>,
        sender: oneshot::Sender<Result<Response<HyperOutgoingBody>, ErrorCode>>,
        has_failed: Arc<AtomicBool>,
    ) -> wasmtime::Result<()> {
        // The body ends when the store goes, and has to know by then.
        let note = |result: &wasmtime::Result<()>| has_failed.store(result.is_err(), Ordering::Release);
        let parent = parent_of(request.headers());
        let mut store = Store::new(&self.engine, state);
        match &self.recorder {
            Some(recorder) => {
                let mut store = recorder.recorded_store(store)?;
                store.set_parent(parent)?;
                let answer = async |store: &mut kperf_wasmtime::RecordedStore<StoreData>| {
                    self.pre.answer(store, request, sender).await
                };
                let result = store.call_async(answer).await;
                note(&result);
                result
            }
            None => {
                let result = self.pre.answer(&mut store, request, sender).await;
                note(&result);
                result
            }
        }
    }

    fn report_failure(&self, what: &str, message: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if !self.quiet {
            output::error(format_args!("{what}: {message}"));
        }
    }
}

/// A body that ends with an error if the guest's call failed, since it is incomplete.
struct Whole {
    body: HyperOutgoingBody,
    has_failed: Arc<AtomicBool>,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = wasmtime_wasi_http::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, wasmtime_wasi_http::Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(None) if self.has_failed.load(Ordering::Acquire) => {
                Poll::Ready(Some(Err(wasmtime_wasi_http::Error::HttpResponseIncomplete)))
            }
            frame => frame,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The span that a request is a part of, if it says so.
fn parent_of(headers: &HeaderMap) -> Option<TraceContext> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let states = headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok());
    let state = states.collect::<Vec<_>>().join(",");
    // A state that can't be read doesn't make the parent unknown.
    TraceContext::parse(parent, &state).or_else(|_| TraceContext::parse(parent, "")).ok()
}

fn failed(status: StatusCode) -> Response<HyperOutgoingBody> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
}
