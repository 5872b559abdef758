//! Answers to the browser.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer: all of its bytes, or a stream.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// An answer to the browser.
pub type Answer = Response<Body>;

/// An answer's body from bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| -> BoxError { match never {} }).boxed_unsync()
}

/// An answer with a line of text.
pub fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(full(text.to_owned()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
