//! OTLP over HTTP.
//!
//! Source: "OTLP/HTTP" in OpenTelemetry's protocol specification.

use super::answer::Answer;
use super::config::{Compression, Config};
use super::error::{ErrorKind, Result};
use super::tls::{self, Connector};
use crate::proto::collector::trace::v1::ExportTraceServiceResponse;
use bytes::Bytes;
use flate2::write::GzEncoder;
use http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use prost::Message;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

const PROTOBUF: &str = "application/x-protobuf";
/// Some servers answer so, though it isn't requested.
const JSON: &str = "application/json";
/// Longer answers are not read: the important part is at the beginning.
const MAX_ANSWER: usize = 1 << 20;
/// How much of a text answer is shown.
const MAX_TEXT: usize = 300;

/// A client of one address, which keeps its connections. Cheap to clone.
#[derive(Clone)]
pub(super) struct Http {
    client: Client<Connector, Full<Bytes>>,
    endpoint: Uri,
    headers: HeaderMap,
    compression: Compression,
}

impl Http {
    pub(super) fn new(config: &Config) -> Result<Http> {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(tls::connector(config, false)?);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(super::USER_AGENT));
        for (name, value) in &config.headers {
            let bad = || ErrorKind::Header(name.clone());
            let name = HeaderName::try_from(name).map_err(|_| bad())?;
            headers.insert(name, HeaderValue::try_from(value).map_err(|_| bad())?);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
        if config.compression == Compression::Gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Ok(Http { client, endpoint: config.endpoint.clone(), headers, compression: config.compression })
    }

    /// A request's bytes as they go over the wire.
    pub(super) fn pack(&self, body: Vec<u8>) -> io::Result<Bytes> {
        match self.compression {
            Compression::None => Ok(body.into()),
            Compression::Gzip => {
                let packed = Vec::with_capacity(body.len() / 4);
                let mut encoder = GzEncoder::new(packed, flate2::Compression::fast());
                encoder.write_all(&body)?;
                Ok(encoder.finish()?.into())
            }
        }
    }

    /// Tries once.
    pub(super) async fn post(&self, body: Bytes) -> Answer {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        *request.headers_mut() = self.headers.clone();
        match self.client.request(request).await {
            Ok(response) => answer(response).await,
            Err(error) => Answer::of_error(&error),
        }
    }
}

async fn answer(response: Response<Incoming>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = match Limited::new(body, MAX_ANSWER).collect().await {
        Ok(body) => body.to_bytes(),
        // Only the status counts, and it says that the spans have arrived.
        Err(_) if parts.status.is_success() => Bytes::new(),
        Err(error) => return Answer::of_error(error.as_ref()),
    };
    let is_protobuf =
        parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(PROTOBUF.as_bytes()));
    if parts.status.is_success() {
        // An answer that isn't OTLP's is a page of a proxy or an app, which has taken nothing.
        let kind = parts.headers.get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()));
        let is_known = |kind: &str| kind.starts_with(PROTOBUF) || kind.starts_with(JSON);
        if let Some(kind) = kind.filter(|kind| !body.is_empty() && !is_known(kind)) {
            let why = format!("the answer is no OTLP message, but {kind}: the address is not a Collector's");
            return Answer::Hopeless { why };
        }
        if is_protobuf && ExportTraceServiceResponse::decode(body.clone()).is_err() {
            return Answer::Hopeless {
                why: "the answer is no OTLP message: the address is not a Collector's".to_owned(),
            };
        }
        let response = if is_protobuf { ExportTraceServiceResponse::decode(body).ok() } else { None };
        return Answer::accepted(response.unwrap_or_default());
    }
    let status = if is_protobuf { tonic_types::pb::Status::decode(body.clone()).ok() } else { None };
    let text = match status {
        Some(status) => status.message,
        None => String::from_utf8_lossy(&body).trim().chars().take(MAX_TEXT).collect(),
    };
    let why = match text.is_empty() {
        true => format!("HTTP {}", parts.status),
        false => format!("HTTP {}: {text}", parts.status),
    };
    match parts.status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let wait = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            Answer::Later { wait: wait.and_then(|value| retry_after(value, SystemTime::now())), why }
        }
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::NOT_FOUND
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::UNSUPPORTED_MEDIA_TYPE => Answer::Hopeless { why },
        StatusCode::PAYLOAD_TOO_LARGE => Answer::TooLarge { why },
        status if status.is_redirection() => Answer::Hopeless { why },
        _ => Answer::Refused { why },
    }
}

/// `Retry-After`: seconds, or a date.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
    }
}
