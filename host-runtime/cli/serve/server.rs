//! Answers the browser: what the site says, with the recorder in it, and what is ours.

use super::html;
use super::modules::Modules;
use super::pages::{Pages, Part};
use super::site::{Answer, BoxError, Site};
use crate::output::tell;
use anyhow::{Context, bail};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// What the page loads first: the package's `kperf.js`, made by `npm run bundle` in host-runtime/js.
const SCRIPT: &str = include_str!("../../js/bundle/kperf.js");
/// Where our own things are. No site has a folder of this name.
const OURS: &str = "/.kperf/";
const POST: &str = "/.kperf/trace";
/// What a page may send at a time, packed and unpacked. It sends parts of half a second.
const MAX_POST: usize = 256 << 20;
const MAX_PART: u64 = 1 << 30;

/// Everything that connections share.
pub struct Server {
    /// Where everything else comes from.
    pub site: Site,
    /// What was rewritten.
    pub modules: Modules,
    /// What pages sent.
    pub pages: Pages,
    /// What the script's tag says of how pages record.
    pub attributes: String,
    /// Whether pages are made cross-origin isolated.
    pub isolate: bool,
    /// Whether only names of this machine are answered to: another name that leads here is a trick of another site's.
    pub local: bool,
}

/// Takes connections, for ever.
pub async fn serve(listener: TcpListener, server: Arc<Server>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, for example: that passes.
                tell(format_args!("error: failed to take a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let server = server.clone();
        tokio::spawn(async move {
            let answer = move |request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(server.answer(request).await) }
            };
            // A browser that goes away in the middle is no error of ours.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .with_upgrades()
                .await;
        });
    }
}

impl Server {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        if self.local && !is_local(request.headers().get(header::HOST)) {
            return text(
                StatusCode::MISDIRECTED_REQUEST,
                "kperf-wasm serve answers to names of this machine only",
            );
        }
        if request.uri().path().starts_with(OURS) {
            return self.own(request).await;
        }
        let (path, is_data) = (request.uri().path().to_owned(), is_data(request.headers()));
        let inline = takes_several_memories(request.headers());
        let answer = self.site.answer(request).await;
        let answer = match self.change(&path, is_data, inline, answer).await {
            Ok(answer) => answer,
            Err(error) => {
                tell(format_args!("error: {path}: {error:#}"));
                return text(StatusCode::BAD_GATEWAY, &format!("kperf-wasm serve: {error:#}"));
            }
        };
        if self.isolate { isolated(answer) } else { answer }
    }

    /// Puts the recorder in, where that has a place.
    async fn change(
        self: &Arc<Self>,
        path: &str,
        is_data: bool,
        inline: bool,
        answer: Answer,
    ) -> anyhow::Result<Answer> {
        let kind = kind(path, is_data, &answer);
        if answer.status() != StatusCode::OK || kind == Kind::Other {
            return Ok(answer);
        }
        if answer.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            tell(format_args!("{path}: comes compressed though nobody asked for that; it stays as it is"));
            return Ok(answer);
        }
        let (mut head, body) = answer.into_parts();
        let body =
            body.collect().await.map_err(anyhow::Error::from_boxed).context("failed to read it")?.to_bytes();
        let body: Bytes = match kind {
            Kind::Page => html::insert(&body, &self.tag()).into(),
            Kind::Module if body.starts_with(b"\0asm") => {
                let (server, name) = (self.clone(), path.to_owned());
                tokio::task::spawn_blocking(move || server.modules.probed(&name, &body, inline)).await?
            }
            Kind::Module | Kind::Other => body,
        };
        // What the browser keeps of these would be wrong once this server is gone.
        head.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for name in [header::CONTENT_LENGTH, header::ETAG, header::LAST_MODIFIED] {
            head.headers.remove(name);
        }
        // It could keep the recorder out of the page, or of its workers.
        head.headers.remove(header::CONTENT_SECURITY_POLICY);
        Ok(Response::from_parts(head, full(body)))
    }

    fn tag(&self) -> String {
        format!("<script src=\"{OURS}kperf.js\" data-post=\"{POST}\" {}></script>", self.attributes)
    }

    /// What is asked of us rather than of the site.
    async fn own(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        match (request.method().clone(), request.uri().path()) {
            (Method::GET, "/.kperf/kperf.js") => {
                let mut answer = Response::new(full(SCRIPT));
                answer.headers_mut().extend([
                    (header::CONTENT_TYPE, HeaderValue::from_static("text/javascript")),
                    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
                ]);
                if self.isolate { isolated(answer) } else { answer }
            }
            (Method::POST, POST) => match self.take(request).await {
                Ok(()) => text(StatusCode::OK, ""),
                Err(error) => {
                    tell(format_args!("error: a part of a trace was refused: {error:#}"));
                    text(StatusCode::BAD_REQUEST, &format!("{error:#}"))
                }
            },
            _ => text(StatusCode::NOT_FOUND, "there is nothing of this name"),
        }
    }

    async fn take(self: Arc<Self>, request: Request<Incoming>) -> anyhow::Result<()> {
        let headers = request.headers();
        let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // Other sites' pages can't send this header without asking first, and nobody answers that.
        let trace = get("kperf-trace").context("the header kperf-trace is missing")?.to_owned();
        if trace.len() != 32 || !trace.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("the header kperf-trace is not 32 hexadecimal digits");
        }
        let number = get("kperf-part").and_then(|part| part.parse().ok());
        let number = number.context("the header kperf-part is no number")?;
        let is_last = get("kperf-last").is_some();
        let is_packed = get("content-encoding") == Some("gzip");
        let body = Limited::new(request.into_body(), MAX_POST).collect().await;
        let body = body.map_err(anyhow::Error::from_boxed).context("failed to read it")?.to_bytes();
        tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            if is_packed {
                GzDecoder::new(&body[..])
                    .take(MAX_PART)
                    .read_to_end(&mut bytes)
                    .context("failed to unpack it")?;
            } else {
                bytes = body.into();
            }
            let whole = self.pages.take(Part { trace, number, is_last, bytes })?;
            if let Some(whole) = whole {
                // The page doesn't wait for that.
                tokio::task::spawn_blocking(move || self.pages.finish(whole));
            }
            Ok(())
        })
        .await?
    }
}

/// What is to be done with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Page,
    Module,
    Other,
}

/// Whether a script wants it as text or data: a page that is fetched is not shown.
fn is_data(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_some_and(|value| value == "empty")
}

/// Whether the browser gives a module several memories, as far as it says which it is: Chromium and Firefox do.
fn takes_several_memories(headers: &HeaderMap) -> bool {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let version = |name: &str| {
        let digits = agent.split_once(name)?.1;
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    version("Chrome/").is_some_and(|version| version >= 120)
        || version("Firefox/").is_some_and(|version| version >= 125)
}

fn kind(path: &str, is_data: bool, answer: &Answer) -> Kind {
    let content = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content = content.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match content {
        "application/wasm" => Kind::Module,
        _ if path.ends_with(".wasm") => Kind::Module,
        "text/html" | "application/xhtml+xml" if !is_data => Kind::Page,
        _ => Kind::Other,
    }
}

/// Makes a page cross-origin isolated, so that it has shared memory and a fine clock, and lets it load what it loads.
/// `credentialless` rather than `require-corp`: what comes from elsewhere goes on working.
fn isolated(mut answer: Answer) -> Answer {
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-embedder-policy", "credentialless"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

/// Whether a `Host` header names this machine.
fn is_local(host: Option<&HeaderValue>) -> bool {
    let Some(host) = host.and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An answer's body from bytes.
pub fn full(bytes: impl Into<Bytes>) -> super::site::Body {
    Full::new(bytes.into()).map_err(|never| -> BoxError { match never {} }).boxed_unsync()
}

/// An answer of a line of text.
pub fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(full(text.to_owned()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
