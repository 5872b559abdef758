//! What a page's worker begins with: the recorder, and then the worker's own script.
//!
//! A page could start it from a text of its own (a blob), but such a worker has the policy of the page in the place of its own.

use super::answer::{Answer, text};
use super::own::{OURS, parameter, script};
use super::policy;
use super::server::Server;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Request, StatusCode, Uri};

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
    let mut answer = script(source(&path, is_module));
    of_worker(site.headers(), &host, &path, answer.headers_mut());
    answer
}

fn source(path: &str, is_module: bool) -> String {
    // A text in JSON is one in JavaScript. (`to_string` of a text can't fail.)
    let path = serde_json::Value::from(path).to_string();
    match is_module {
        true => format!("import \"{OURS}kperf.js\";\nimport {path};\n"),
        false => format!("importScripts(\"{OURS}kperf.js\");\nimportScripts({path});\n"),
    }
}

/// Takes over what the site says of the worker. Its policy gets room for the recorder, and for the script that would be the worker's
/// own without it.
fn of_worker(site: &HeaderMap, host: &str, path: &str, headers: &mut HeaderMap) {
    for name in OF_WORKERS {
        for value in site.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    let path = path.split('?').next().unwrap_or(path).replace(';', "%3B").replace(',', "%2C");
    policy::extend_all(headers, &format!("{host}{OURS} {host}{path}"));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_worker_keeps_its_own_policy() {
        let mut site = HeaderMap::new();
        site.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
        site.insert(header::SET_COOKIE, HeaderValue::from_static("a=b"));
        let mut headers = HeaderMap::new();
        of_worker(&site, "h:1", "/a;b.js?c", &mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(
            headers[header::CONTENT_SECURITY_POLICY],
            "default-src 'none'; script-src h:1/.kperf/ h:1/a%3Bb.js blob:; worker-src h:1/.kperf/ h:1/a%3Bb.js blob:; connect-src \
             h:1/.kperf/ h:1/a%3Bb.js"
        );
        assert_eq!(
            source("/a\"b", false),
            "importScripts(\"/.kperf/kperf.js\");\nimportScripts(\"/a\\\"b\");\n"
        );
    }
}
