//! Handlers of WASI 0.3 (`wasi:http/handler`).

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response, Uri};
use kperf_wasi::StoreData;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;
use wasmtime::AsContextMut;
use wasmtime::component::Accessor;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::p3::bindings::ServicePre;
use wasmtime_wasi_http::{WasiHttpView, p3};

/// Answers a request. It ends when the response is whole, or its client has gone away.
pub(super) async fn answer(
    store: &mut impl AsContextMut<Data = StoreData>,
    pre: &ServicePre<StoreData>,
    request: Request<Incoming>,
    sender: oneshot::Sender<Result<Response<HyperOutgoingBody>, ErrorCode>>,
) -> wasmtime::Result<()> {
    let service = pre.instantiate_async(&mut *store).await?;
    let mut view = store.as_context_mut();
    let (request, _) = p3::Request::from_http(view.data_mut().http().hooks, with_origin(request));
    let answer = async |accessor: &Accessor<StoreData>| {
        let response = match service.handle(accessor, request).await? {
            Ok(response) => response,
            Err(code) => {
                // WASI 0.2 has the same codes in a type of its own, but they are only printed.
                let _ = sender.send(Err(ErrorCode::InternalError(Some(format!("{code:?}")))));
                return Ok(());
            }
        };
        let response = accessor.with(|mut store| response.into_http(&mut store, async { Ok(()) }))?;
        let (end, ended) = oneshot::channel();
        let response = response.map(|body| Sent { body, _end: end }.boxed_unsync());
        if sender.send(Ok(response)).is_ok() {
            // What supplies the body runs meanwhile.
            let _ = ended.await;
        }
        Ok(())
    };
    view.run_concurrent(answer).await?
}

/// The request as a guest expects it: with the scheme, and with the host that it was sent to.
fn with_origin<B>(mut request: Request<B>) -> Request<B> {
    let host = request.headers().get("host").and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let mut parts = request.uri().clone().into_parts();
    if let Some(host) = host.filter(|_| parts.authority.is_none()) {
        (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(host));
    }
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

/// A body that signals when its reader has gone.
struct Sent<B> {
    body: B,
    _end: oneshot::Sender<()>,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Sent<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
