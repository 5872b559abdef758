//! Answers the browser: with the site's files, into whose pages the recorder is put, and with our own.

use super::answer::{Answer, continued, make_room, text};
use super::connections::Connections;
use super::modules::Modules;
use super::own;
use super::pages::Pages;
use super::site::Site;
use crate::output::tell;
use anyhow::Context;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use kperf_pages::{Hosts, ISOLATED, OURS, html};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpListener;

/// What all connections share.
pub struct Server {
    /// Everything that is not ours.
    pub site: Site,
    /// The modules that were rewritten.
    pub modules: Modules,
    /// The traces that pages send.
    pub pages: Arc<Pages>,
    /// The attributes of the script's tag, which say how pages record.
    pub attributes: String,
    /// Whether pages are made cross-origin isolated.
    pub isolate: bool,
    /// Which names it answers to.
    pub hosts: Hosts,
}

/// The tag goes into the first bytes of a page, at most so many; the rest is passed on as it comes.
const MAX_HEAD: usize = 1 << 16;
/// How long a client may take to say what it wants, and how long a connection may stay open without a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes connections, for ever.
pub async fn serve(listener: TcpListener, server: Arc<Server>) {
    let connections = Connections::new();
    let mut is_told = false;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => {
                is_told = false;
                stream
            }
            Err(error) => {
                // There may be too many open files, for example.
                if !is_told {
                    tell(format_args!("error: failed to take a connection: {error}"));
                }
                is_told = true;
                connections.end_one();
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let server = server.clone();
        let (place, stopped) = connections.place();
        tokio::spawn(async move {
            let activity = place.activity();
            let answer = move |request| {
                let (server, activity) = (server.clone(), activity.clone());
                async move {
                    let _busy = activity.begin();
                    Ok::<_, Infallible>(server.answer(request).await)
                }
            };
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(place.watch(stream)), service_fn(answer))
                .with_upgrades();
            let (mut connection, mut stopped) = (pin!(connection), pin!(stopped));
            poll_fn(|context| {
                // A browser may go away in the middle of an answer.
                let ends =
                    stopped.as_mut().poll(context).is_ready() || connection.as_mut().poll(context).is_ready();
                if ends { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
    }
}

impl Server {
    async fn answer(self: Arc<Self>, mut request: Request<Incoming>) -> Answer {
        let host = request.headers().get(header::HOST).cloned();
        let name = host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.hosts.has(name) {
            return text(
                StatusCode::MISDIRECTED_REQUEST,
                "kperf-wasm serve doesn't answer to this name: use an address, localhost, or --allow-host NAME",
            );
        }
        let isolate = self.isolate;
        let answer = if request.uri().path().starts_with(OURS) {
            own::answer(self, request).await
        } else if request.method() == Method::GET && asks_for_page(request.headers()) {
            // The page has to be there from its beginning, and readable.
            for name in [
                header::ACCEPT_ENCODING,
                header::IF_MODIFIED_SINCE,
                header::IF_NONE_MATCH,
                header::IF_RANGE,
                header::RANGE,
            ] {
                request.headers_mut().remove(name);
            }
            let path = request.uri().path().to_owned();
            let answer = self.site.answer(request).await;
            match self.with_recorder(&path, name, answer).await {
                Ok(answer) => answer,
                Err(error) => {
                    tell(format_args!("error: {path}: {error:#}"));
                    return text(StatusCode::BAD_GATEWAY, &format!("kperf-wasm serve: {error:#}"));
                }
            }
        } else {
            self.site.answer(request).await
        };
        if isolate { isolated(answer) } else { answer }
    }

    /// Puts the recorder into an answer, if that is a page.
    async fn with_recorder(&self, path: &str, host: &str, answer: Answer) -> anyhow::Result<Answer> {
        if answer.status() != StatusCode::OK || !is_page(&answer) {
            return Ok(answer);
        }
        if answer.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            tell(format_args!(
                "{path}: the server sent it compressed, unasked; it is passed on without a change"
            ));
            return Ok(answer);
        }
        let (mut head, mut body) = answer.into_parts();
        let mut start = Vec::new();
        while start.len() < MAX_HEAD
            && !html::place(&start).1
            && let Some(frame) = body.frame().await
        {
            let frame = frame.map_err(anyhow::Error::from_boxed).context("failed to read it")?;
            start.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
        if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
            tell(format_args!("{path}: it is in UTF-16; it is passed on without a change"));
            return Ok(Response::from_parts(head, continued(start, body)));
        }
        let nonce = make_room(&mut head.headers, &format!("{host}{OURS}"));
        let is_xml = is_content(&head.headers, XHTML);
        let page = html::insert(&start, &html::tag(nonce.as_deref(), is_xml, &self.attributes));
        // A cached copy would be wrong when this server is gone.
        head.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for name in [header::CONTENT_LENGTH, header::ETAG, header::LAST_MODIFIED, header::ACCEPT_RANGES] {
            head.headers.remove(name);
        }
        Ok(Response::from_parts(head, continued(page, body)))
    }
}

/// Whether the browser wants to show what it asks for. What a script fetches as data needs no recorder, and may be kept.
fn asks_for_page(headers: &HeaderMap) -> bool {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match get("sec-fetch-dest") {
        Some(destination) => matches!(destination, "document" | "iframe" | "frame" | "object" | "embed"),
        // Browsers say it only to addresses that they trust.
        None => get("accept").is_some_and(|accept| accept.contains("text/html")),
    }
}

const XHTML: &[u8] = b"application/xhtml+xml";

fn is_page(answer: &Answer) -> bool {
    is_content(answer.headers(), b"text/html") || is_content(answer.headers(), XHTML)
}

fn is_content(headers: &HeaderMap, kind: &[u8]) -> bool {
    let content = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    content.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind))
}

/// Makes a page cross-origin isolated. What the site says of that itself, it says still.
fn isolated(mut answer: Answer) -> Answer {
    for (name, value) in ISOLATED {
        let place = answer.headers_mut().entry(HeaderName::from_static(name));
        place.or_insert(HeaderValue::from_static(value));
    }
    answer
}
