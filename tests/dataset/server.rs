//! moto, a server that behaves as S3 does, and proxies before it that fail.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// A server, which ends with this.
pub struct Moto {
    child: Child,
    pub port: u16,
}

impl Moto {
    /// Starts it, with a bucket.
    pub fn start(python: &Path, bucket: &str) -> Moto {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()];
        let child =
            Command::new(python).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moto = Moto { child, port };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                Moto::ask(port, "PUT", &format!("/{bucket}"));
                return moto;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("moto doesn't answer; has this Python `moto[server]`?");
    }

    /// The body of its answer. It checks no signatures.
    pub fn ask(port: u16, method: &str, path: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = "Host: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0";
        let credential = "Authorization: AWS4-HMAC-SHA256 Credential=id/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        write!(stream, "{method} {path} HTTP/1.1\r\n{head}\r\n{credential}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let status = String::from_utf8_lossy(&answer[..end]).lines().next().unwrap().to_owned();
        assert!(status.contains(" 20"), "{method} {path}: {status}");
        answer.split_off(end + 4)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a proxy fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Every second request is answered with an error: 500 and 503.
    Errors,
    /// Every second upload ends in its middle.
    CutUploads,
    /// Every second answer does. A body's length is told before, so that everybody can see it.
    CutAnswers,
    /// Every second answer is slow to begin, and comes a bit at a time.
    Slow,
    /// Each request is answered with an error.
    Always,
    /// Nothing is ever answered: the connection is closed.
    NoBody,
}

/// A proxy. Its threads end with the process.
pub struct Proxy {
    pub port: u16,
    faults: Arc<AtomicU64>,
}

impl Proxy {
    /// How often it has failed.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }
}

impl Faults {
    /// A proxy before a server.
    pub fn before(self, server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let faults = Arc::new(AtomicU64::new(0));
        let (count, turn) = (faults.clone(), Arc::new(AtomicU64::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, turn) = (count.clone(), turn.clone());
                // Whoever is cut off here doesn't matter to anybody.
                thread::spawn(move || self.pass(stream, server, &count, &turn));
            }
        });
        Proxy { port, faults }
    }

    /// Passes on the request of a connection, and closes it.
    fn pass(self, mut client: TcpStream, server: u16, count: &AtomicU64, turn: &AtomicU64) -> Option<()> {
        let mut input = BufReader::new(client.try_clone().ok()?);
        let (mut head, mut length) = (String::new(), 0usize);
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
            if !lower.starts_with("connection:") {
                head.push_str(&line);
            }
        }
        let is_upload = length > 0;
        let fails = match self {
            Faults::Always | Faults::NoBody => true,
            Faults::CutUploads if !is_upload => false,
            _ => turn.fetch_add(1, Ordering::Relaxed).is_multiple_of(2),
        };
        let number = if fails { count.fetch_add(1, Ordering::Relaxed) } else { 0 };
        if fails && self == Faults::NoBody {
            return None;
        }
        let mut body = vec![0; if fails && self == Faults::CutUploads { length / 2 } else { length }];
        input.read_exact(&mut body).ok()?;
        if fails && matches!(self, Faults::Errors | Faults::Always) {
            let status = if number.is_multiple_of(2) { "500 Internal Server Error" } else { "503 Slow Down" };
            write!(client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok()?;
            return None;
        }
        let mut stream = TcpStream::connect(("127.0.0.1", server)).ok()?;
        write!(stream, "{head}Connection: close\r\n\r\n").ok()?;
        stream.write_all(&body).ok()?;
        if fails && self == Faults::CutUploads {
            return None;
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        match self {
            Faults::CutAnswers if fails => {
                let half = answer.len().saturating_sub(1) / 2 + 1;
                client.write_all(&answer[..half.min(answer.len() - 1)]).ok()
            }
            Faults::Slow if fails => {
                thread::sleep(Duration::from_millis(300));
                answer.chunks(1 << 12).try_for_each(|part| {
                    thread::sleep(Duration::from_millis(20));
                    client.write_all(part).ok()
                })
            }
            _ => client.write_all(&answer).ok(),
        }
    }
}
