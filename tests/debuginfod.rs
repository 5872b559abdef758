//! Names from debuginfod servers: real ones over HTTP, that serve a folder in debuginfod's layout.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_kperf-wasm");
const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rewriter/tests/source/inlined.wasm");
const ID: &str = "0123456789abcdef";

/// Python's server of a folder.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn of(folder: &Path) -> Server {
        let program = "import http.server, sys\n\
            s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
            print(s.server_port, flush=True)\n\
            s.serve_forever()";
        let mut child = Command::new("python3")
            .args(["-c", program])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Server { child, url: format!("http://127.0.0.1:{}", port.trim()) }
    }
}

/// A trace of a stripped module with a build id, in a folder; and a folder to serve, which has the whole module.
fn recorded() -> (tempfile::TempDir, tempfile::TempDir) {
    let (folder, served) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = fs::read(MODULE).unwrap();
    let mut stripped = wasm_encoder::Module::new();
    for payload in wasmparser::Parser::new(0).parse_all(&whole) {
        if let Some((id, range)) = payload.unwrap().as_section().filter(|(id, _)| *id != 0) {
            let data = &whole[range.start as usize..range.end as usize];
            stripped.section(&wasm_encoder::RawSection { id, data });
        }
    }
    let id: Vec<u8> = (0..8).map(|n| u8::from_str_radix(&ID[2 * n..2 * n + 2], 16).unwrap()).collect();
    let data = [&[8][..], &id].concat();
    let build_id = wasm_encoder::CustomSection { name: "build_id".into(), data: data.as_slice().into() };
    stripped.section(&build_id);
    fs::write(folder.path().join("app.wasm"), stripped.finish()).unwrap();
    let place = served.path().join("buildid").join(ID);
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("debuginfo"), whole).unwrap();
    let output = kperf(folder.path(), &["run", "-q", "--clock", "test", "app.wasm"], &[]);
    assert!(output.status.success(), "{output:?}");
    (folder, served)
}

fn kperf(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(BINARY)
        .args(args)
        .current_dir(folder)
        .env_remove("DEBUGINFOD_URLS")
        .env("DEBUGINFOD_CACHE_PATH", folder.join("cache"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// What a report says on stdout and stderr.
fn report(folder: &Path, variables: &[(&str, &str)]) -> (String, String) {
    let output = kperf(folder, &["report", "app.kperf"], variables);
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn names_come_from_a_server_and_then_from_the_cache() {
    let (folder, served) = recorded();
    let folder = folder.path();
    assert!(!report(folder, &[]).0.contains("leaf"));
    let server = Server::of(served.path());
    // The first has nothing of it.
    let empty = tempfile::tempdir().unwrap();
    let other = Server::of(empty.path());
    let urls = format!("{} {}/", other.url, server.url);
    let (table, said) = report(folder, &[("DEBUGINFOD_URLS", &urls)]);
    assert!(table.contains("leaf") && said.contains(&format!("cache/{ID}/debuginfo")), "{table}{said}");
    drop((server, other));
    let (table, said) = report(folder, &[("DEBUGINFOD_URLS", &urls)]);
    assert!(table.contains("leaf") && !said.contains("warning"), "{said}");
    // A whole module that is rewritten anew has the names too.
    let args = ["rewrite", "app.wasm", "-o", "probed.wasm"];
    let output = kperf(folder, &args, &[("DEBUGINFOD_URLS", &urls)]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("names are from"));
    // Nothing but the file is left of it.
    let left: Vec<_> = fs::read_dir(folder.join("cache").join(ID)).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn servers_that_have_nothing_are_not_asked_again() {
    let (folder, _) = recorded();
    let folder = folder.path();
    let empty = tempfile::tempdir().unwrap();
    let server = Server::of(empty.path());
    let urls = [("DEBUGINFOD_URLS", server.url.as_str())];
    let (_, said) = report(folder, &urls);
    assert!(!said.contains("warning"), "{said}");
    let missed = folder.join("cache").join(ID).join("debuginfo");
    assert_eq!(fs::metadata(missed).unwrap().len(), 0);
    let url = server.url.clone();
    drop(server);
    let (_, said) = report(folder, &[("DEBUGINFOD_URLS", &url)]);
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn a_server_that_fails_or_says_nothing_costs_its_time_once() {
    let (folder, served) = recorded();
    let folder = folder.path();
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    // Nobody listens here.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::of(served.path());
    let urls = format!("gopher://nowhere http://{closed} {silent_url} {}", server.url);
    let began = Instant::now();
    let variables = [("DEBUGINFOD_URLS", urls.as_str()), ("DEBUGINFOD_TIMEOUT", "1")];
    let (table, said) = report(folder, &variables);
    assert!(table.contains("leaf"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(said.matches("warning: names are not taken from").count(), 3, "{said}");
    assert!(said.contains("it said nothing for 1s (DEBUGINFOD_TIMEOUT)"), "{said}");

    // All of them together have a limit too, and the report is there without names.
    let other = tempfile::tempdir().unwrap();
    let variables = [
        ("DEBUGINFOD_URLS", silent_url.as_str()),
        ("DEBUGINFOD_MAXTIME", "1"),
        ("DEBUGINFOD_CACHE_PATH", other.path().to_str().unwrap()),
    ];
    let (table, said) = report(folder, &variables);
    assert!(!table.contains("leaf") && said.contains("DEBUGINFOD_MAXTIME"), "{said}");
    assert!(fs::read_dir(other.path()).unwrap().next().is_none(), "a server that fails may have it");
}

#[test]
fn what_a_server_has_must_be_of_the_same_build() {
    let (folder, served) = recorded();
    let place = served.path().join("buildid").join(ID).join("debuginfo");
    for (wrong, why) in [
        (b"<html>not found</html>".to_vec(), "warning: names are not taken from"),
        (fs::read(MODULE.replace("inlined", "calls")).unwrap(), "it defines 4 functions, the module 3"),
    ] {
        fs::write(&place, wrong).unwrap();
        let server = Server::of(served.path());
        let cache = tempfile::tempdir().unwrap();
        let variables = [
            ("DEBUGINFOD_URLS", server.url.as_str()),
            ("DEBUGINFOD_CACHE_PATH", cache.path().to_str().unwrap()),
        ];
        let (table, said) = report(folder.path(), &variables);
        assert!(!table.contains("leaf") && said.contains(why), "{said}");
    }
}
