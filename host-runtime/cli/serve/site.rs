//! The site itself: a folder, or another server.

use super::folder::Folder;
use super::proxy::Proxy;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::{Request, Response};

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer: whole, or as it comes.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// An answer to the browser.
pub type Answer = Response<Body>;

/// Where pages come from.
#[allow(clippy::large_enum_variant, reason = "there is one")]
pub enum Site {
    /// Files.
    Folder(Folder),
    /// Another development server.
    Proxy(Proxy),
}

impl Site {
    /// What the site says, as it is.
    pub async fn answer(&self, request: Request<Incoming>) -> Answer {
        match self {
            Site::Folder(folder) => folder.answer(request).await,
            Site::Proxy(proxy) => proxy.answer(request).await,
        }
    }
}
