//! Answers to the browser.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Frame;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use kperf_pages::policy;
use std::pin::Pin;
use std::task::{Context, Poll};

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

/// A body that begins with bytes which were read of it, or put there.
pub fn continued(start: impl Into<Bytes>, rest: Body) -> Body {
    Continued { start: Some(start.into()), rest }.boxed_unsync()
}

struct Continued {
    start: Option<Bytes>,
    rest: Body,
}

impl hyper::body::Body for Continued {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        match this.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut this.rest).poll_frame(context),
        }
    }
}

/// An answer with a line of text.
pub fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(full(text.to_owned()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// Makes room in the policies of an answer for what is below `ours`. Answers the nonce that the scripts of a page have.
pub fn make_room(headers: &mut HeaderMap, ours: &str) -> Option<String> {
    // (It may have bytes that are no text. What is said beside these stays in force.)
    let texts = headers.get_all(header::CONTENT_SECURITY_POLICY).iter();
    let policies: Vec<String> =
        texts.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    headers.remove(header::CONTENT_SECURITY_POLICY);
    let (policies, nonce) = policy::extend_all(&policies, ours);
    for policies in policies {
        if let Ok(value) = HeaderValue::from_str(&policies) {
            headers.append(header::CONTENT_SECURITY_POLICY, value);
        }
    }
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_is_no_text_stays_in_force() {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_bytes(b"script-src 'none'; x \xe9").ok();
        headers.extend(value.map(|value| (header::CONTENT_SECURITY_POLICY, value)));
        make_room(&mut headers, "h/");
        let told = headers.get(header::CONTENT_SECURITY_POLICY).map(|value| value.as_bytes().to_owned());
        let expected = "x \u{fffd}; script-src h/ blob:; worker-src h/ blob:";
        assert_eq!(told.as_deref(), Some(expected.as_bytes()));
    }
}
