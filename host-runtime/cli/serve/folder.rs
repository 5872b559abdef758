//! A site that is a folder of files.

use super::server::{full, text};
use super::site::Answer;
use anyhow::Context;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use std::io;
use std::path::{Path, PathBuf};

/// A folder whose files are served, and nothing outside of it.
pub struct Folder {
    /// Without links.
    root: PathBuf,
}

enum Found {
    File {
        path: PathBuf,
        bytes: Vec<u8>,
    },
    /// A folder that was asked for without a slash at its end: links in its page would lead elsewhere.
    Folder,
}

impl Folder {
    /// Fails if it isn't there.
    pub fn new(path: &Path) -> anyhow::Result<Folder> {
        let root =
            path.canonicalize().with_context(|| format!("failed to open the folder `{}`", path.display()))?;
        anyhow::ensure!(root.is_dir(), "`{}` is no folder", path.display());
        Ok(Folder { root })
    }

    /// The file that is asked for.
    pub async fn answer<B>(&self, request: Request<B>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "a folder only answers GET and HEAD");
        }
        let path = request.uri().path().to_owned();
        let root = self.root.clone();
        let asked = path.clone();
        match tokio::task::spawn_blocking(move || find(&root, &asked)).await {
            Ok(Ok(Found::File { path, bytes })) => {
                let mut answer = Response::new(full(bytes));
                let content = mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream");
                answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content));
                // A file may be made anew while somebody works on it.
                answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                answer
            }
            Ok(Ok(Found::Folder)) => {
                let mut answer = text(StatusCode::MOVED_PERMANENTLY, "");
                // As it came, so that it stays encoded; one slash, or it would name another server.
                let to = format!("/{}/", path.trim_matches('/'));
                if let Ok(to) = HeaderValue::from_str(&to) {
                    answer.headers_mut().insert(header::LOCATION, to);
                }
                answer
            }
            _ => text(StatusCode::NOT_FOUND, &format!("there is no {path}")),
        }
    }
}

fn find(root: &Path, asked: &str) -> io::Result<Found> {
    let decoded = percent_decode_str(asked).decode_utf8().map_err(io::Error::other)?;
    let mut path = root.to_owned();
    for part in decoded.split('/').filter(|part| !part.is_empty()) {
        let is_name = Path::new(part)
            .components()
            .all(|component| matches!(component, std::path::Component::Normal(_)));
        if !is_name {
            return Err(io::ErrorKind::NotFound.into());
        }
        path.push(part);
    }
    let mut path = path.canonicalize()?;
    if path.is_dir() && !decoded.ends_with('/') {
        return Ok(Found::Folder);
    }
    if path.is_dir() {
        path = path.join("index.html").canonicalize()?;
    }
    // A link may lead out.
    if !path.starts_with(root) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let bytes = std::fs::read(&path)?;
    Ok(Found::File { path, bytes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nothing_outside_is_found() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("site");
        std::fs::create_dir_all(root.join("a b")).unwrap();
        std::fs::write(outer.path().join("secret"), "x").unwrap();
        std::fs::write(root.join("a b/index.html"), "page").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outer.path().join("secret"), root.join("link")).unwrap();
        let root = root.canonicalize().unwrap();
        assert!(matches!(find(&root, "/a%20b/"), Ok(Found::File { bytes, .. }) if bytes == b"page"));
        assert!(matches!(find(&root, "/a%20b"), Ok(Found::Folder)));
        for outside in
            ["/../secret", "/%2e%2e/secret", "/a%20b/..%2f..%2fsecret", "/link", "/%ff", "/missing"]
        {
            assert!(find(&root, outside).is_err(), "{outside}");
        }
    }
}
