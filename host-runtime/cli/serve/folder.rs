//! A site that is a folder of files.

use super::answer::{Answer, BoxError, text};
use anyhow::Context;
use http_body_util::BodyExt;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use std::io;
use std::path::{Path, PathBuf};
use tower_http::services::ServeDir;

/// A folder. Its files are served, and nothing outside of it, nor files whose names begin with a dot.
pub struct Folder {
    /// The folder's path with all links resolved.
    root: PathBuf,
    files: ServeDir,
}

/// The only folder of such a name that is for everybody (RFC 8615).
const WELL_KNOWN: &str = ".well-known";
/// The endings of files that are another file, packed.
const PACKED: [&str; 3] = [".br", ".gz", ".zst"];

impl Folder {
    /// Fails if there is no such folder.
    pub fn new(path: &Path) -> anyhow::Result<Folder> {
        let root =
            path.canonicalize().with_context(|| format!("failed to open the folder `{}`", path.display()))?;
        anyhow::ensure!(root.is_dir(), "`{}` is not a folder", path.display());
        let files = ServeDir::new(&root).ignore_multi_range_requests(true).precompressed_br();
        Ok(Folder { files: files.precompressed_gzip().precompressed_zstd(), root })
    }

    /// Answers with the file that is asked for, or with a part of it, its packed form, or that the browser has it already.
    pub async fn answer<B>(&self, mut request: Request<B>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "a folder only answers GET and HEAD");
        }
        let path = request.uri().path().to_owned();
        let missing = || text(StatusCode::NOT_FOUND, &format!("there is no {path}"));
        let (root, asked) = (self.root.clone(), path.clone());
        let is_ours = tokio::task::spawn_blocking(move || is_inside(&root, &asked)).await;
        if !matches!(is_ours, Ok(true)) {
            return missing();
        }
        *request.uri_mut() = with_one_slash(request.uri());
        // A range of what may be another file by now, or of a form that servers pass over (RFC 9110, 14.2), is no range. What
        // changes while it is worked on has no strong validator, so any `If-Range` is of that kind.
        let headers = request.headers_mut();
        if headers.contains_key(header::IF_RANGE) || !headers.get(header::RANGE).is_some_and(is_range) {
            headers.remove(header::RANGE);
        }
        let answer = match self.files.clone().try_call(request.map(|_| String::new())).await {
            Ok(answer) if answer.status() == StatusCode::NOT_FOUND => return missing(),
            Ok(answer) => answer,
            Err(error) => {
                return text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{path} can't be read: {error}"));
            }
        };
        let mut answer = answer.map(|body| body.map_err(|error| -> BoxError { error.into() }).boxed_unsync());
        // The app is being worked on: a file may change at any time.
        answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
        answer
    }
}

/// Whether this is `bytes=FROM-TO`, or several of them.
fn is_range(value: &HeaderValue) -> bool {
    let number = |text: &str| text.is_empty() || text.parse::<u64>().is_ok();
    let parts = |part: &str| {
        let (from, to) = part.trim().split_once('-')?;
        let ordered =
            from.parse::<u64>().ok().zip(to.parse::<u64>().ok()).is_none_or(|(from, to)| from <= to);
        (number(from) && number(to) && !(from.is_empty() && to.is_empty()) && ordered).then_some(())
    };
    let list = value.to_str().ok().and_then(|value| value.strip_prefix("bytes="));
    list.is_some_and(|list| list.split(',').all(|part| parts(part).is_some()))
}

/// The address with one slash in front of its path: where the answer is a redirect, two would name another server.
fn with_one_slash(uri: &Uri) -> Uri {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("/{}{query}", uri.path().trim_start_matches('/'));
    path.parse().unwrap_or_else(|_| Uri::from_static("/"))
}

/// Whether the path leads to something in the folder that is for others. Links may lead out of it.
fn is_inside(root: &Path, asked: &str) -> bool {
    let Ok(decoded) = percent_decode_str(asked).decode_utf8() else { return false };
    let mut path = root.to_owned();
    for part in decoded.split('/').filter(|part| !part.is_empty()) {
        let is_name = Path::new(part)
            .components()
            .all(|component| matches!(component, std::path::Component::Normal(_)));
        if !is_name || !is_public(part) {
            return false;
        }
        path.push(part);
    }
    let resolved = |path: &Path| -> io::Result<PathBuf> {
        let path = path.canonicalize()?;
        if path.is_dir() { path.join("index.html").canonicalize() } else { Ok(path) }
    };
    let Ok(path) = resolved(&path) else { return false };
    // The file's packed forms may be sent in its place.
    let packed = PACKED.iter().filter_map(|ending| {
        let mut name = path.file_name()?.to_owned();
        name.push(ending);
        path.with_file_name(name).canonicalize().ok()
    });
    packed.chain([path.clone()]).all(|path| {
        let below = path.strip_prefix(root).ok();
        below.is_some_and(|below| below.iter().all(|part| is_public(&part.to_string_lossy())))
    })
}

/// Whether a file or a folder of this name is for others.
fn is_public(name: &str) -> bool {
    !name.starts_with('.') || name == WELL_KNOWN
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn site() -> tempfile::TempDir {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("site");
        std::fs::create_dir_all(root.join("a b/.git")).unwrap();
        std::fs::create_dir_all(root.join(".well-known")).unwrap();
        for (name, content) in [
            ("secret", "x"),
            ("site/a b/index.html", "page"),
            ("site/.env", "PASSWORD=1"),
            ("site/a b/.git/config", "x"),
            ("site/.well-known/x", "well"),
            ("site/app.js", "0123456789"),
            ("site/app.js.gz", "packed"),
            ("site/lib.js", "lib"),
        ] {
            std::fs::write(outer.path().join(name), content).unwrap();
        }
        #[cfg(unix)]
        for (to, link) in
            [("secret", "link"), ("secret", "lib.js.gz"), ("site/.env", "linkenv"), ("site/app.js", "ours")]
        {
            std::os::unix::fs::symlink(outer.path().join(to), root.join(link)).unwrap();
        }
        outer
    }

    #[test]
    fn nothing_outside_is_found_and_nothing_with_a_dot() {
        let outer = site();
        let root = outer.path().join("site").canonicalize().unwrap();
        for inside in ["/a%20b/", "/a%20b", "/app.js", "/ours", "/.well-known/x"] {
            assert!(is_inside(&root, inside), "{inside}");
        }
        for outside in [
            "/../secret",
            "/%2e%2e/secret",
            "/a%20b/..%2f..%2fsecret",
            "/link",
            "/linkenv",
            // Its packed form lies outside.
            "/lib.js",
            "/%ff",
            "/missing",
            "/.env",
            "/%2eenv",
            "/a%20b/.git/config",
        ] {
            assert!(!is_inside(&root, outside), "{outside}");
        }
    }

    #[test]
    fn it_answers_as_a_file_server_does() {
        let outer = site();
        let folder = Folder::new(&outer.path().join("site")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let get = |path: &str, headers: &[(&str, &str)]| {
            let mut request = Request::get(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            runtime.block_on(async {
                let answer = folder.answer(request.body(()).unwrap()).await;
                let (head, body) = answer.into_parts();
                (head.status.as_u16(), head.headers, body.collect().await.unwrap().to_bytes())
            })
        };
        let (status, headers, body) = get("/app.js", &[]);
        assert_eq!((status, &body[..]), (200, &b"0123456789"[..]));
        let tag = headers["etag"].to_str().unwrap();
        assert_eq!(headers["content-type"], "text/javascript");
        assert_eq!(get("/app.js", &[("if-none-match", tag)]).0, 304);
        let (status, headers, body) = get("/app.js", &[("range", "bytes=2-4")]);
        assert_eq!(
            (status, &body[..], headers["content-range"].to_str().unwrap()),
            (206, &b"234"[..], "bytes 2-4/10")
        );
        for other in ["lines=1-2", "bytes=abc", "bytes=5-1", "bytes=0-99999999999999999999"] {
            assert_eq!(get("/app.js", &[("range", other)]).0, 200, "{other}");
        }
        assert_eq!(get("/app.js", &[("range", "bytes=2-4"), ("if-range", "\"other\"")]).0, 200);
        assert_eq!(get("/app.js", &[("range", "bytes=20-")]).0, 416);
        let (_, headers, body) = get("/app.js", &[("accept-encoding", "gzip")]);
        assert_eq!((headers["content-encoding"].to_str().unwrap(), &body[..]), ("gzip", &b"packed"[..]));
        let (status, headers, _) = get("/a%20b?q=1", &[]);
        assert_eq!((status, headers["location"].to_str().unwrap()), (307, "/a%20b/?q=1"));
        // Two slashes would name another server.
        let (_, headers, _) = get("//a%20b?q=1", &[]);
        assert_eq!(headers["location"], "/a%20b/?q=1");
        assert_eq!(get("/.env", &[]).0, 404);
    }
}
