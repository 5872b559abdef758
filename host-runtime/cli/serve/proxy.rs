//! A site that another development server serves.

use super::answer::{Answer, BoxError, text};
use anyhow::{Context, ensure};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri, upgrade};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// Another server. Its answers are passed on.
pub struct Proxy {
    authority: String,
    client: Client<HttpConnector, Incoming>,
}

impl Proxy {
    /// Fails if `url` is no address of an HTTP server. Sends nothing yet.
    pub fn new(url: &str) -> anyhow::Result<Proxy> {
        let uri: Uri = url.parse().with_context(|| format!("`{url}` is no URL"))?;
        ensure!(
            uri.scheme_str() == Some("http"),
            "`{url}` doesn't begin with http://, which is all that --proxy takes"
        );
        ensure!(
            matches!(uri.path(), "" | "/"),
            "`{url}` has a path; give only the server, its paths stay as they are"
        );
        let authority = uri.authority().with_context(|| format!("`{url}` names no server"))?.to_string();
        Ok(Proxy { authority, client: Client::builder(TokioExecutor::new()).build_http() })
    }

    /// Answers as the server does.
    pub async fn answer(&self, request: Request<Incoming>) -> Answer {
        match self.ask(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let server = &self.authority;
                text(
                    StatusCode::BAD_GATEWAY,
                    &format!("kperf-wasm serve: http://{server} doesn't answer: {error:#}"),
                )
            }
        }
    }

    async fn ask(&self, mut request: Request<Incoming>) -> anyhow::Result<Answer> {
        let wants_upgrade = request.headers().contains_key(header::UPGRADE);
        let ours = upgrade::on(&mut request);
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri = format!("http://{}{path}", self.authority).parse()?;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        // Headers of one connection.
        for name in [
            header::TRANSFER_ENCODING,
            header::TE,
            header::TRAILER,
            header::PROXY_AUTHORIZATION,
            HeaderName::from_static("keep-alive"),
        ] {
            headers.remove(name);
        }
        if !wants_upgrade {
            headers.remove(header::CONNECTION);
        }
        self.rename(headers)?;
        let mut answer = self.client.request(request).await?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let theirs = upgrade::on(&mut answer);
            tokio::spawn(async move {
                let (Ok(ours), Ok(theirs)) = (ours.await, theirs.await) else { return };
                // Runs until one side closes.
                let _ =
                    tokio::io::copy_bidirectional(&mut TokioIo::new(ours), &mut TokioIo::new(theirs)).await;
            });
        }
        self.localize(&mut answer);
        Ok(answer.map(|body| body.map_err(|error| -> BoxError { error.into() }).boxed_unsync()))
    }

    /// Gives the server its own name in the place of ours. Servers compare where a request comes from with their name, against forgery;
    /// so pages of ours are pages of theirs, and those of other sites stay what they are.
    fn rename(&self, headers: &mut HeaderMap) -> anyhow::Result<()> {
        let ours = headers.insert(header::HOST, HeaderValue::from_str(&self.authority)?);
        let ours = ours.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let base = format!("http://{ours}");
        for name in [header::ORIGIN, header::REFERER] {
            let value = headers.get(&name).and_then(|value| value.to_str().ok());
            let path = value.and_then(|value| value.strip_prefix(&base));
            let Some(path) = path.filter(|path| path.is_empty() || path.starts_with('/')) else { continue };
            let theirs = HeaderValue::from_str(&format!("http://{}{path}", self.authority))?;
            headers.insert(name, theirs);
        }
        Ok(())
    }

    /// Makes a redirection to the server lead to us.
    fn localize(&self, answer: &mut Response<Incoming>) {
        let base = format!("http://{}", self.authority);
        let location = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        // (Two slashes would name another server.)
        let is_path = |path: &&str| path.starts_with('/') && !path.starts_with("//");
        let path = location.and_then(|to| to.strip_prefix(&base)).filter(is_path);
        if let Some(Ok(path)) = path.map(HeaderValue::from_str) {
            answer.headers_mut().insert(header::LOCATION, path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_of_our_pages_comes_from_the_servers_own() {
        let proxy = Proxy::new("http://localhost:5173").unwrap();
        for (name, value, expected) in [
            ("origin", "http://127.0.0.1:8080", "http://localhost:5173"),
            (
                "referer",
                "http://127.0.0.1:8080/a?b=http://127.0.0.1:8080",
                "http://localhost:5173/a?b=http://127.0.0.1:8080",
            ),
            ("origin", "http://127.0.0.1:80801", "http://127.0.0.1:80801"),
            ("origin", "http://127.0.0.1:8080.evil.example", "http://127.0.0.1:8080.evil.example"),
            ("origin", "https://evil.example", "https://evil.example"),
            ("origin", "null", "null"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:8080"));
            headers.insert(name, HeaderValue::from_static(value));
            proxy.rename(&mut headers).unwrap();
            assert_eq!(
                (&headers[header::HOST], &headers[name]),
                (&"localhost:5173".parse().unwrap(), &expected.parse().unwrap())
            );
        }
    }
}
