//! OTLP over gRPC.
//!
//! Source: "OTLP/gRPC" in OpenTelemetry's protocol specification.

use super::answer::Answer;
use super::config::{Compression, Config};
use super::error::{ErrorKind, Result};
use super::tls::{self, Connector};
use crate::proto::collector::trace::v1::ExportTraceServiceResponse;
use bytes::{BufMut, Bytes};
use http::uri::PathAndQuery;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use prost::Message;
use std::error::Error;
use tonic::body::Body;
use tonic::client::Grpc as GrpcClient;
use tonic::codec::{BufferSettings, Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::{Code, Extensions, Request, Status};
use tonic_types::StatusExt;

/// A client of one address, which keeps its connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct Grpc {
    calls: GrpcClient<Client<Connector, Body>>,
    method: PathAndQuery,
    metadata: MetadataMap,
}

impl Grpc {
    pub(super) fn new(config: &Config) -> Result<Grpc> {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .http2_only(true)
            .build(tls::connector(config, true)?);
        let mut calls = GrpcClient::with_origin(client, config.endpoint.clone());
        if config.compression == Compression::Gzip {
            // Go's servers compress their answers as the request was, whatever the client accepts.
            calls =
                calls.send_compressed(CompressionEncoding::Gzip).accept_compressed(CompressionEncoding::Gzip);
        }
        let mut metadata = MetadataMap::new();
        metadata.insert("user-agent", MetadataValue::from_static(super::USER_AGENT));
        for (name, value) in &config.headers {
            let bad = || ErrorKind::Header(name.clone());
            let name = MetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes()).map_err(|_| bad())?;
            metadata.insert(name, value.parse().map_err(|_| bad())?);
        }
        Ok(Grpc { calls, method: PathAndQuery::from_static(config.signal.method()), metadata })
    }

    /// Tries once.
    pub(super) async fn export(&self, body: Bytes) -> Answer {
        let mut calls = self.calls.clone();
        if let Err(error) = calls.ready().await {
            return Answer::of_error(&error);
        }
        let codec = Encoded { length: body.len() };
        let request = Request::from_parts(self.metadata.clone(), Extensions::default(), body);
        match calls.unary(request, self.method.clone(), codec).await {
            Ok(response) => Answer::accepted(response.into_inner()),
            Err(status) => answer(&status),
        }
    }
}

fn answer(status: &Status) -> Answer {
    // A status with a source was made here, of an error of the connection.
    if let Some(source) = status.source() {
        return Answer::of_error(source);
    }
    let name = format!("{:?}", status.code());
    let why = if status.message().is_empty() { name } else { format!("{name}: {}", status.message()) };
    let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
    match status.code() {
        Code::ResourceExhausted | Code::OutOfRange if wait.is_none() && is_about_size(status.message()) => {
            Answer::TooLarge { why }
        }
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Answer::Later { wait, why },
        Code::ResourceExhausted if wait.is_some() => Answer::Later { wait, why },
        Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented => Answer::Hopeless { why },
        _ => Answer::Refused { why },
    }
}

/// Whether a message is about the size of a request. There is no code for that: Go's servers say `received message larger than
/// max`, Java's `gRPC message exceeds maximum size`, tonic `decoded message length too large`.
fn is_about_size(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["larger than max", "too large", "exceeds maximum size", "exceeds the maximum"]
        .iter()
        .any(|words| message.contains(words))
}

/// Requests are encoded already, and answers are small.
struct Encoded {
    length: usize,
}

impl Codec for Encoded {
    type Encode = Bytes;
    type Decode = ExportTraceServiceResponse;
    type Encoder = Encoded;
    type Decoder = Encoded;

    fn encoder(&mut self) -> Encoded {
        Encoded { length: self.length }
    }

    fn decoder(&mut self) -> Encoded {
        Encoded { length: 0 }
    }
}

impl Encoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        // In one piece, with room for the five bytes before it.
        let length = self.length + 8;
        BufferSettings::new(length, length)
    }
}

impl Decoder for Encoded {
    type Item = ExportTraceServiceResponse;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<ExportTraceServiceResponse>, Status> {
        ExportTraceServiceResponse::decode(from)
            .map(Some)
            .map_err(|error| Status::internal(format!("the answer can't be read: {error}")))
    }
}
