//! A server in a process of its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};
use tokio::net::TcpSocket;

/// Where the binary of a server is; `None`, with a word on stderr, where it can't be had. `build` says whether it may be
/// built now.
pub fn binary(name: &str, build: bool) -> Option<String> {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let script =
        folders.map(|folder| folder.join("scripts/otlp-server")).find(|script| script.exists()).unwrap();
    let mut command = Command::new(script);
    command.arg(name);
    if !build {
        command.arg("--cached");
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        return Some(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    let has_go = Command::new("go").arg("version").stdout(Stdio::null()).status().is_ok();
    assert!(!build || !has_go, "the {name} can't be built:\n{said}");
    eprintln!("skipped: {said}");
    None
}

/// Free ports, which nobody else is given while this is there.
pub struct Ports<const N: usize> {
    pub numbers: [u16; N],
    /// Bound, so that they are taken. They don't listen: connections are refused, and a server that sets SO_REUSEADDR, as
    /// those in Go do, may listen there.
    _held: Vec<TcpSocket>,
}

impl<const N: usize> Ports<N> {
    pub fn free() -> Ports<N> {
        let held = [(); N].map(|()| {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            socket
        });
        let numbers = held.each_ref().map(|socket| socket.local_addr().unwrap().port());
        // Other systems let nobody listen at an address that somebody else has bound.
        let held = if cfg!(target_os = "linux") { held.into() } else { Vec::new() };
        Ports { numbers, _held: held }
    }
}

/// A process that is gone with its handle.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts it with a configuration, and waits until `url` answers with 200.
    pub fn start(binary: &str, folder: &Path, config: &str, url: &str) -> Server {
        Server::start_with(binary, &[], folder, config, url)
    }

    /// The same with flags.
    pub fn start_with(binary: &str, flags: &[&str], folder: &Path, config: &str, url: &str) -> Server {
        let (path, log) = (folder.join("config.yaml"), folder.join("log.txt"));
        fs::write(&path, config).unwrap();
        let log_file = fs::File::options().create(true).append(true).open(&log).unwrap();
        let mut command = Command::new(binary);
        command.arg("--config").arg(format!("file:{}", path.display())).args(flags).current_dir(folder);
        let child = command.stdout(log_file.try_clone().unwrap()).stderr(log_file).spawn().unwrap();
        let mut server = Server { child };
        let begun = Instant::now();
        while get(url).is_none() {
            let gone = server.child.try_wait().unwrap().is_some();
            assert!(
                !gone && begun.elapsed() < Duration::from_secs(60),
                "{binary} doesn't start:\n{}",
                fs::read_to_string(log).unwrap()
            );
            thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }

    /// Waits until it is gone.
    pub fn wait(mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a process a signal.
#[allow(unsafe_code)]
pub fn kill(process: u32, signal: i32) {
    // SAFETY: it takes two numbers; the process is a child that was not waited for.
    assert_eq!(unsafe { libc::kill(process.try_into().unwrap(), signal) }, 0);
}

/// The body of `http://HOST:PORT/PATH`; `None` unless the answer is 200.
pub fn get(url: &str) -> Option<String> {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).ok()?;
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split_whitespace().nth(1).filter(|status| *status == "200")?;
    Some(body.to_owned())
}
