//! A small HTTP server: each request is answered by an instance of a component (`wasi:http`), and the calls of that instance are sent
//! as spans below the span of whoever asked.
//!
//!     cargo run --release --example serve-component -- examples/components/http.wasm 127.0.0.1:8080
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT` says where the Collector is. Ctrl-C ends it.

use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kperf_otlp::SpanOptions;
use kperf_otlp::exporter::{self, Config, Sending, Settings};
use kperf_wasmtime::rewriter::Options;
use kperf_wasmtime::{
    InstrumentOptions, InstrumentedComponent, Recorder, TraceContext, instrument_component,
};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime::{AsContextMut, Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView, p2};
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, component, address] = &args[..] else {
        anyhow::bail!("usage: serve-component COMPONENT.wasm ADDRESS")
    };
    let (interrupted, end) = oneshot::channel();
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::spawn(move || signals.forever().next().map(|_| interrupted.send(())));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        let end = async { drop(end.await) };
        let sending = serve(&std::fs::read(component)?, listener, Settings::default().config()?, end).await?;
        let delivery = sending.wait_async().await;
        anyhow::ensure!(delivery.is_complete(), "not every span was acknowledged\n{delivery}");
        Ok(())
    })
}

/// What an instance has for its request.
struct Wasi {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
}

impl WasiView for Wasi {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Wasi {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: Default::default() }
    }
}

struct Server {
    component: InstrumentedComponent,
    pre: ProxyPre<Wasi>,
}

/// Answers requests until `end`. The spans may still be on their way then.
pub(crate) async fn serve(
    wasm: &[u8],
    listener: TcpListener,
    collector: Config,
    end: impl Future<Output = ()>,
) -> anyhow::Result<Sending> {
    let engine = Engine::default();
    // The recorder writes its trace to the sink; threads of the sink's own read it and send.
    let (sink, sending) = exporter::sink(collector, SpanOptions::default())?;
    let recorder = Recorder::builder().sink(sink).build(&engine)?;

    // This was `Component::new(&engine, wasm)?`. `imports`: calls of the host are told too.
    let options = Options { imports: true, ..Options::default() };
    let options = InstrumentOptions::to_recorder(&recorder).rewriter(options);
    let component = instrument_component(&engine, wasm, &options)?;

    let mut linker = Linker::new(&engine);
    p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // This was not there.
    component.add_to_linker(&mut linker)?;

    let pre = ProxyPre::new(linker.instantiate_pre(&component)?)?;
    let server = Arc::new(Server { component, pre });
    let taking = tokio::spawn(server.take_connections(listener));
    end.await;
    taking.abort();
    // This ends the trace, and with it the spans.
    recorder.finish("completed")?;
    Ok(sending)
}

impl Server {
    async fn take_connections(self: Arc<Self>, listener: TcpListener) -> anyhow::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            let server = self.clone();
            let answer = move |request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(server.answer(request).await.unwrap_or_else(|_| failed())) }
            };
            // A client may go away in the middle of an answer.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    }

    /// Answers a request by an instance of its own. The instance may go on when its response has begun.
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> anyhow::Result<Response<HyperOutgoingBody>> {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let state = header("tracestate").unwrap_or_default();
        let parent = header("traceparent").and_then(|parent| TraceContext::parse(parent, state).ok());

        let (sender, receiver) = oneshot::channel();
        let state =
            Wasi { wasi: WasiCtx::builder().build(), http: WasiHttpCtx::new(), table: ResourceTable::new() };
        let mut store = Store::new(self.pre.engine(), state);
        let request = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
        let out = store.data_mut().http().new_response_outparam(sender)?;

        // These two lines were not there. What the instance calls is below the caller's span.
        let mut store = self.component.store(store)?;
        store.set_parent(parent)?;

        let handling = tokio::spawn(async move {
            // `call_async` closes what a trap leaves open, and tells apart the time in which the guest waits.
            let call = async |store: &mut kperf_wasmtime::RecordedStore<Wasi>| {
                let proxy = self.pre.instantiate_async(store.as_context_mut()).await?;
                proxy.wasi_http_incoming_handler().call_handle(store.as_context_mut(), request, out).await
            };
            store.call_async(call).await
        });
        match receiver.await {
            Ok(response) => Ok(response?),
            Err(_) => anyhow::bail!("the guest gave no response: {:?}", handling.await?),
        }
    }
}

fn failed() -> Response<HyperOutgoingBody> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}
