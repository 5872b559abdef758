//! Answers with what a page's worker begins with.

use super::answer::{Answer, make_room, text};
use super::own::{parameter, script};
use super::server::Server;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Request, StatusCode, Uri};
use kperf_pages::{OURS, worker};

/// What the answer with a worker's script says of the worker.
const OF_WORKERS: [HeaderName; 3] = [
    header::CONTENT_SECURITY_POLICY,
    HeaderName::from_static("cross-origin-embedder-policy"),
    header::REFERRER_POLICY,
];

/// Answers `?to=PATH`, or `?module&to=PATH` for a module: a script that loads the recorder and then the script at that path of the
/// site. If the site doesn't answer with a script, this is its answer.
pub(super) async fn answer(server: &Server, mut request: Request<Incoming>) -> Answer {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let is_module = query.split('&').any(|word| word == "module");
    // Two slashes would name another server.
    let path = parameter(&query, "to").filter(|path| path.starts_with('/') && !path.starts_with("//"));
    let parsed = path.as_ref().and_then(|path| Some((path.clone(), path.parse::<Uri>().ok()?)));
    let Some((path, uri)) = parsed.filter(|(path, _)| !path.starts_with(OURS)) else {
        return text(StatusCode::BAD_REQUEST, "`to` is no path of the site");
    };
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    *request.uri_mut() = uri;
    for name in [header::IF_MODIFIED_SINCE, header::IF_NONE_MATCH, header::IF_RANGE, header::RANGE] {
        request.headers_mut().remove(name);
    }
    let site = server.site.answer(request).await;
    if site.status() != StatusCode::OK {
        return site;
    }
    let mut answer = script(worker::source(&path, is_module));
    of_worker(site.headers(), &host, &path, answer.headers_mut());
    answer
}

/// Takes over what the site says of the worker. Its policy gets the room that it needs.
fn of_worker(site: &HeaderMap, host: &str, path: &str, headers: &mut HeaderMap) {
    for name in OF_WORKERS {
        for value in site.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    make_room(headers, &worker::room(host, path));
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_worker_keeps_its_own_policy() {
        let mut site = HeaderMap::new();
        site.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
        site.insert(header::SET_COOKIE, HeaderValue::from_static("a=b"));
        let mut headers = HeaderMap::new();
        of_worker(&site, "h:1", "/a.js?c", &mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(
            headers[header::CONTENT_SECURITY_POLICY],
            "default-src 'none'; script-src h:1/.kperf/ h:1/a.js blob:; worker-src h:1/.kperf/ h:1/a.js blob:; connect-src \
             h:1/.kperf/ h:1/a.js"
        );
    }
}
