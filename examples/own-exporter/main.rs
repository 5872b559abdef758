//! A guest's calls below the program's current span, and as spans for the program's own exporter.
//!
//!     cargo run --release --example own-exporter
//!
//! The context and the exporter here are those of a tracing library in small: with the crates `opentelemetry` and `opentelemetry_sdk`
//! they are `Context::current()` and a `SpanExporter`.

use kperf_otlp::exporter;
use kperf_otlp::proto::collector::trace::v1::ExportTraceServiceRequest;
use kperf_otlp::{SpanOptions, TraceContext};
use kperf_wasmtime::{InstrumentOptions, Recorder, instrument};
use prost::Message;
use std::cell::RefCell;
use wasmtime::{Engine, Linker, Store};

thread_local! {
    /// The program's current span.
    static CURRENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
}

/// The program's exporter.
pub(crate) trait SpanExporter: Send + 'static {
    /// Takes spans of one resource.
    fn export(&mut self, spans: ExportTraceServiceRequest) -> anyhow::Result<()>;
}

const GUEST: &str = r#"(module (func $work) (func (export "handle") (call $work)))"#;

/// Serves some requests, each below a span of its own.
pub(crate) fn serve(requests: u64, mut exporter: impl SpanExporter) -> anyhow::Result<()> {
    let engine = Engine::default();
    let (sink, mut spans) = exporter::live_spans(SpanOptions::from_env()?)?;
    let recorder = Recorder::builder().sink(sink).build(&engine)?;
    // The exporter may wait; no guest does.
    let exports = std::thread::spawn(move || {
        while let Some(request) = spans.next().map_err(anyhow::Error::from_boxed)? {
            exporter.export(ExportTraceServiceRequest::decode(&request.body[..])?)?;
        }
        anyhow::Ok(())
    });
    let module = instrument(&engine, wat::parse_str(GUEST)?, &InstrumentOptions::to_recorder(&recorder))?;
    let mut linker = Linker::new(&engine);
    module.add_to_linker(&mut linker)?;
    let pre = linker.instantiate_pre(&module)?;
    for request in 1..=requests {
        let parent = format!("00-{request:032x}-{request:016x}-01");
        CURRENT.set(TraceContext::parse(&parent, "").ok());

        let mut store = Store::new(&engine, ());
        module.lane(&mut store, |lane| lane.set_parent(CURRENT.with_borrow(Clone::clone)));
        module.call(&mut store, |store| {
            let instance = pre.instantiate(&mut *store)?;
            instance.get_typed_func::<(), ()>(&mut *store, "handle")?.call(store, ())
        })?;
    }
    recorder.finish("completed")?;
    exports.join().unwrap_or_else(|_| anyhow::bail!("the exporter panicked"))
}

struct Counting(usize);

impl SpanExporter for Counting {
    fn export(&mut self, request: ExportTraceServiceRequest) -> anyhow::Result<()> {
        let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        self.0 += scopes.map(|scope| scope.spans.len()).sum::<usize>();
        anyhow::ensure!(self.0 <= 20, "more spans than calls");
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    serve(10, Counting(0))
}
