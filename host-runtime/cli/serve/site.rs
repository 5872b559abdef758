//! The site itself: a folder, or another server.

use super::answer::Answer;
use super::folder::Folder;
use super::proxy::Proxy;
use hyper::Request;
use hyper::body::Incoming;

/// Where pages come from.
#[allow(clippy::large_enum_variant, reason = "there is one")]
pub enum Site {
    /// A folder of files.
    Folder(Folder),
    /// Another development server.
    Proxy(Proxy),
}

impl Site {
    /// The site's own answer.
    pub async fn answer(&self, request: Request<Incoming>) -> Answer {
        match self {
            Site::Folder(folder) => folder.answer(request).await,
            Site::Proxy(proxy) => proxy.answer(request).await,
        }
    }
}
