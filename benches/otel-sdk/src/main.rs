//! Sends the spans of a trace with OpenTelemetry's own exporter: `otel-sdk SPANS ENDPOINT`.
//!
//! SPANS is a file that `kperf-wasm export --format otlp` wrote, ENDPOINT the address at which a Collector takes HTTP. The spans are
//! converted to the SDK's first, which isn't timed. They go in batches of 10,000, one after the other, as the SDK's batch processor
//! sends them. Prints the number of spans and the seconds. `cargo bench -p kperf-otlp --features exporter --bench send` runs it
//! beside our exporter, if it is built: `cargo build --release --manifest-path benches/otel-sdk/Cargo.toml`.

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_otlp::{Protocol, WithExportConfig};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter, SpanLinks};
use prost::Message;
use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

const BATCH: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, spans, endpoint] = arguments.as_slice() else {
        return Err("usage: otel-sdk SPANS ENDPOINT".into());
    };
    let request = ExportTraceServiceRequest::decode(&*std::fs::read(spans)?)?;
    let scope = InstrumentationScope::builder("kperf-wasm").build();
    let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    let spans: Vec<SpanData> = scopes
        .flat_map(|scope| &scope.spans)
        .map(|span| data(span, &scope))
        .collect::<Option<_>>()
        .ok_or("an id has the wrong length")?;
    let count = spans.len();
    let batches: Vec<Vec<SpanData>> = spans.chunks(BATCH).map(<[SpanData]>::to_vec).collect();
    drop(spans);
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(Duration::from_secs(10))
        .build()?;
    let begun = Instant::now();
    for batch in batches {
        futures_executor::block_on(exporter.export(batch))?;
    }
    println!("{count} {}", begun.elapsed().as_secs_f64());
    Ok(())
}

fn data(span: &Span, scope: &InstrumentationScope) -> Option<SpanData> {
    let id = |bytes: &[u8]| -> Option<SpanId> {
        if bytes.is_empty() {
            Some(SpanId::INVALID)
        } else {
            Some(SpanId::from_bytes(bytes.try_into().ok()?))
        }
    };
    let trace_id = TraceId::from_bytes(span.trace_id.as_slice().try_into().ok()?);
    let context =
        SpanContext::new(trace_id, id(&span.span_id)?, TraceFlags::SAMPLED, false, TraceState::default());
    let attribute = |attribute: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        let value: Value = match attribute.value.as_ref()?.value.as_ref()? {
            any_value::Value::StringValue(text) => text.clone().into(),
            any_value::Value::IntValue(number) => (*number).into(),
            any_value::Value::DoubleValue(number) => (*number).into(),
            any_value::Value::BoolValue(truth) => (*truth).into(),
            _ => return None,
        };
        Some(KeyValue::new(attribute.key.clone(), value))
    };
    let time = |nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
    Some(SpanData {
        span_context: context,
        parent_span_id: id(&span.parent_span_id)?,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name.clone().into(),
        start_time: time(span.start_time_unix_nano),
        end_time: time(span.end_time_unix_nano),
        attributes: span.attributes.iter().filter_map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: scope.clone(),
    })
}
