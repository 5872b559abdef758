//! Our own part of the server: the recorder's script, parts of traces, and modules that want probes.

use super::answer::{Answer, full, text};
use super::modules::{Module, Outcome};
use super::pages::{NoRoom, Part};
use super::server::Server;
use super::worker;
use crate::output::tell;
use anyhow::{Context, bail};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The script that a page loads first: `kperf.js`, made by `npm run bundle` in host-runtime/js.
const SCRIPT: &str = include_str!("../../js/bundle/kperf.js");
/// What that script puts into worklets.
const WORKLET: &str = include_str!("../../js/bundle/worklet.js");
/// Where pages send parts of traces.
const TRACE: &str = "/.kperf/trace";
/// Where pages send modules that are to get probes.
const PROBE: &str = "/.kperf/probe";
/// Pages of other sites can't send these headers without a preflight request, which is never answered.
const TRACE_HEADER: &str = "kperf-trace";
const PROBE_HEADER: HeaderName = HeaderName::from_static("kperf-probe");

/// The most bytes of a request, and of a part of a trace when it is unpacked. A page sends a part every half second.
const MAX_POST: usize = 256 << 20;
const MAX_PART: u64 = 256 << 20;
/// Parts are unpacked one after the other, so that many at once take no more memory than one.
static UNPACKING: Semaphore = Semaphore::const_new(1);

/// More bytes than the server takes.
#[derive(Debug)]
struct TooLarge(u64);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it has more than {} MiB, which is all that kperf-wasm serve takes at once", self.0 >> 20)
    }
}

impl std::error::Error for TooLarge {}

/// Answers requests for our own files, and takes what pages post.
pub async fn answer(server: Arc<Server>, request: Request<Incoming>) -> Answer {
    match (request.method().clone(), request.uri().path()) {
        (Method::GET, "/.kperf/kperf.js") => script(SCRIPT),
        (Method::GET, "/.kperf/worklet.js") => script(WORKLET),
        (Method::GET, "/.kperf/worker.js") => worker::answer(&server, request).await,
        (Method::POST, TRACE) => match take_part(server, request).await {
            Ok(()) => text(StatusCode::OK, ""),
            Err(error) => refused("a part of a trace was refused", &error),
        },
        (Method::POST, PROBE) => match probe(server, request).await {
            Ok(answer) => answer,
            Err(error) => refused("a module was refused", &error),
        },
        _ => text(StatusCode::NOT_FOUND, "there is nothing of this name"),
    }
}

/// An answer with a script of ours.
pub(super) fn script(text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(full(text));
    answer.headers_mut().extend([
        (header::CONTENT_TYPE, HeaderValue::from_static("text/javascript")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]);
    answer
}

fn refused(what: &str, error: &anyhow::Error) -> Answer {
    tell(format_args!("error: {what}: {error:#}"));
    let status = match () {
        () if error.is::<TooLarge>() => StatusCode::PAYLOAD_TOO_LARGE,
        () if error.is::<NoRoom>() => StatusCode::INSUFFICIENT_STORAGE,
        () => StatusCode::BAD_REQUEST,
    };
    text(status, &format!("{error:#}"))
}

/// The bytes that a page posts.
async fn body(request: Request<Incoming>) -> anyhow::Result<Bytes> {
    match Limited::new(request.into_body(), MAX_POST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(TooLarge(MAX_POST as u64).into()),
        Err(error) => Err(anyhow::Error::from_boxed(error)).context("failed to read it"),
    }
}

async fn take_part(server: Arc<Server>, request: Request<Incoming>) -> anyhow::Result<()> {
    let headers = request.headers();
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let trace = get(TRACE_HEADER).context("the header kperf-trace is missing")?.to_owned();
    if trace.len() != 32 || !trace.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        bail!("the header kperf-trace is not 32 hexadecimal digits");
    }
    let number = get("kperf-part").and_then(|part| part.parse().ok());
    let number = number.context("the header kperf-part is no number")?;
    let is_last = get("kperf-last").is_some();
    let is_packed = get("content-encoding") == Some("gzip");
    let unsent: u64 = get("kperf-unsent").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    let body = body(request).await?;
    let _permit = UNPACKING.acquire().await?;
    tokio::task::spawn_blocking(move || {
        let bytes = if is_packed { unpacked(&body)? } else { body.into() };
        let whole = server.pages.take(Part { trace, number, is_last, unsent, bytes })?;
        if let Some(whole) = whole {
            // The page doesn't wait for the report.
            server.pages.finish_later(whole);
        }
        Ok(())
    })
    .await?
}

fn unpacked(packed: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).take(MAX_PART + 1).read_to_end(&mut bytes).context("failed to unpack it")?;
    if bytes.len() as u64 > MAX_PART {
        return Err(TooLarge(MAX_PART).into());
    }
    Ok(bytes)
}

/// Answers a module with probes, 204 if it is to stay as it is, or 422 with the reason if it can't have any.
async fn probe(server: Arc<Server>, request: Request<Incoming>) -> anyhow::Result<Answer> {
    request.headers().get(PROBE_HEADER).context("the header kperf-probe is missing")?;
    let query = request.uri().query().unwrap_or_default().to_owned();
    let get = |name| parameter(&query, name);
    let module = Module {
        name: get("name").unwrap_or_default(),
        id_base: get("id_base").and_then(|id| id.parse().ok()).context("`id_base` is no number")?,
        inline: get("inline").is_some_and(|inline| inline == "true"),
        wasm: body(request).await?,
    };
    let outcome = tokio::task::spawn_blocking(move || server.modules.probed(module)).await?;
    let mut answer = match outcome {
        Outcome::Probed(wasm) => Response::new(full(wasm)),
        Outcome::AsItIs => text(StatusCode::NO_CONTENT, ""),
        Outcome::Refused(reason) => text(StatusCode::UNPROCESSABLE_ENTITY, &reason),
    };
    // So that the page can tell it from what a service worker or another server answers to anything.
    answer.headers_mut().insert(PROBE_HEADER, HeaderValue::from_static("1"));
    Ok(answer)
}

/// What a query says of a name.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn a_part_that_unpacks_beyond_the_limit_is_refused() {
        let packed = |more: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            let megabyte = vec![0; 1 << 20];
            (0..256).for_each(|_| packed.write_all(&megabyte).unwrap());
            packed.write_all(more).unwrap();
            packed.finish().unwrap()
        };
        assert_eq!(unpacked(&packed(&[])).unwrap().len(), 256 << 20);
        let error = unpacked(&packed(&[0])).unwrap_err();
        assert!(error.is::<TooLarge>(), "{error}");
        assert_eq!(refused("x", &error).status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
