//! What a page's worker begins with: the recorder, and then the worker's own script.
//!
//! A page could start it from a text of its own (a blob), but such a worker has the policy of the page in the place of its own.

use crate::OURS;
use serde_json::Value;

/// A script that loads the recorder and then the script at `path`, of a worker that is a module or isn't.
pub fn source(path: &str, is_module: bool) -> String {
    // A text in JSON is one in JavaScript. (`to_string` of a text can't fail.)
    let path = Value::from(path).to_string();
    match is_module {
        true => format!("import \"{OURS}kperf.js\";\nimport {path};\n"),
        false => format!("importScripts(\"{OURS}kperf.js\");\nimportScripts({path});\n"),
    }
}

/// What a worker's policy needs room for: the recorder, and the script at `path`, which would be the worker's own without it.
/// `host` is the server's name.
pub fn room(host: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path).replace(';', "%3B").replace(',', "%2C");
    format!("{host}{OURS} {host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;

    #[test]
    fn a_worker_is_what_it_is_and_the_recorder() {
        assert_eq!(
            source("/a\"b", false),
            "importScripts(\"/.kperf/kperf.js\");\nimportScripts(\"/a\\\"b\");\n"
        );
        assert_eq!(source("/a", true), "import \"/.kperf/kperf.js\";\nimport \"/a\";\n");
        assert_eq!(
            policy::extend("default-src 'none'", &room("h:1", "/a;b.js?c")),
            "default-src 'none'; script-src h:1/.kperf/ h:1/a%3Bb.js blob:; worker-src h:1/.kperf/ h:1/a%3Bb.js blob:; connect-src \
             h:1/.kperf/ h:1/a%3Bb.js"
        );
    }
}
