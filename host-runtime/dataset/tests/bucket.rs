//! A dataset in a bucket, as a program of an embedder adds to it. On request, against moto, a server in Python that behaves as S3 does:
//!
//! ```sh
//! KPERF_MOTO=/tmp/moto/bin/python cargo test -p kperf-dataset --features s3 --test bucket
//! ```
//!
//! `tests/dataset/bucket.rs` does more, with the command.

#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, unsafe_code)]

use kperf_dataset::{Account, Added, Adder, Background, Options, Store};
use kperf_trace::{Header, Summary, TraceWriter};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that ends with the test.
struct Moto(Child);

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(python: &str) -> (Moto, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(python);
    command.args(["-m", "moto.server", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let moto = Moto(command.spawn().unwrap());
    for _ in 0..300 {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let put =
                "PUT /fleet HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(put.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            return (moto, port);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("moto doesn't start");
}

fn write(path: &Path, name: &str) {
    let header = Header { command: vec![name.to_owned()], ..Header::default() };
    let bytes = TraceWriter::new(Vec::new(), &header).unwrap().finish(&Summary::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_bucket_takes_each_run_once() {
    let Ok(python) = std::env::var("KPERF_MOTO") else {
        eprintln!("skipped: KPERF_MOTO names a Python with moto");
        return;
    };
    let (_moto, port) = start(&python);
    let settings = [
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_ACCESS_KEY_ID", "id".into()),
        ("AWS_SECRET_ACCESS_KEY", "secret".into()),
        ("AWS_REGION", "us-east-1".into()),
        ("AWS_ALLOW_HTTP", "true".into()),
    ];
    for (name, value) in settings {
        // SAFETY: there is no other thread yet.
        unsafe { std::env::set_var(name, value) };
    }
    let folder = tempfile::tempdir().unwrap();
    let traces = ["a", "b"].map(|name| folder.path().join(format!("{name}.kperf")));
    for (trace, name) in traces.iter().zip(["a", "b"]) {
        write(trace, name);
    }
    let root = Path::new("s3://fleet/all");
    let background = Background::start(root, Options::default(), |_, added| assert!(added.is_ok())).unwrap();
    traces.iter().for_each(|trace| background.add(trace));
    assert_eq!(background.finish(), Account { new: 2, ..Account::default() });
    let store = Store::open(root).unwrap();
    let mut adder = Adder::new(&store, Options::default()).unwrap();
    assert_eq!(adder.add_file(&traces[0]).unwrap().added, Added::Before);
    assert_eq!(store.runs().unwrap().len(), 2);
    let lock = store.lock_alone().unwrap();
    assert!(store.lock_alone().err().unwrap().to_string().contains("another process joins the files"));
    drop(lock);
    store.lock_alone().unwrap();
    let error = Store::open(Path::new("s3://fleet/nothing")).err().unwrap();
    assert!(error.to_string().contains("is not a dataset"), "{error}");
    let error = Store::open(Path::new("s3://")).err().unwrap();
    assert!(error.to_string().contains("failed to open `s3://`"), "{error}");
}
