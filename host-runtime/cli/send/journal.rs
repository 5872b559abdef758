//! `TRACE.sent`: the spans of a trace that were acknowledged, for `--resume`.
//!
//! The first line of JSON says what is being sent. Each request that is acknowledged adds a line. The file exists from the
//! first request to the last, so it stays if the sending is interrupted or the process is killed.

use anyhow::{Context, anyhow};
use kperf_otlp::exporter::{Config, Receipt};
use kperf_trace::Header;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What is being sent, and where to. If this is the same, the requests are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The version of this program. Another version may make other requests.
    pub kperf_wasm: String,
    /// Identifies the trace: when it began, and in which process. Empty in the journal of `run`, which is made before the
    /// trace.
    pub trace: String,
    /// Everything that decides which spans there are and what is in them.
    pub options: String,
    /// The whole address.
    pub endpoint: String,
}

/// A request that was acknowledged.
#[derive(Serialize, Deserialize)]
struct Line {
    first_span: u64,
    spans: u64,
    rejected: u64,
}

/// The file.
pub struct Journal(File);

impl Task {
    pub fn new(header: &Header, options: String, config: &Config) -> Task {
        let trace = match *header == Header::default() {
            true => String::new(),
            false => format!("{} {} {}", header.anchor.unix_nanos, header.anchor.ticks, header.host.pid),
        };
        let kperf_wasm = env!("CARGO_PKG_VERSION").to_owned();
        Task { kperf_wasm, trace, options, endpoint: config.endpoint.to_string() }
    }
}

/// The path of a trace's journal.
pub fn path(trace: &Path) -> PathBuf {
    let mut name: OsString = trace.as_os_str().to_owned();
    name.push(".sent");
    PathBuf::from(name)
}

impl Journal {
    /// Makes an empty journal.
    pub fn create(path: &Path, task: &Task) -> anyhow::Result<Journal> {
        let context = || format!("failed to write `{}`, which remembers what was sent", path.display());
        let mut file = File::create(path).with_context(context)?;
        write_line(&mut file, task).with_context(context)?;
        Ok(Journal(file))
    }

    /// Opens a journal to continue it, and returns what was acknowledged before; `None` if there is no journal.
    pub fn resume(path: &Path, task: &Task) -> anyhow::Result<Option<(Journal, Vec<Receipt>)>> {
        let Some((then, receipts)) = read(path)? else { return Ok(None) };
        let bad = |what: &str| {
            anyhow!("`{}` is of {what}; give the same again, or begin anew without --resume", path.display())
        };
        // `run` truncates the trace before it makes the journal, so an empty name means the trace that is there.
        if then.trace != task.trace && !then.trace.is_empty() {
            return Err(bad("another trace"));
        }
        if then.kperf_wasm != task.kperf_wasm {
            return Err(bad(&format!("version {} of kperf-wasm", then.kperf_wasm)));
        }
        if then.endpoint != task.endpoint {
            return Err(bad(&format!("the endpoint {}, not {}", then.endpoint, task.endpoint)));
        }
        if then.options != task.options {
            return Err(bad("other options"));
        }
        let file = File::options().append(true).open(path);
        let file = file.with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(Some((Journal(file), receipts)))
    }

    /// Notes a request. If that fails, `--resume` sends the request again: no span is lost.
    pub fn note(&mut self, receipt: Receipt) {
        let Receipt { first_span, spans, rejected } = receipt;
        let _ = write_line(&mut self.0, &Line { first_span, spans, rejected });
    }
}

/// How many spans of this trace were acknowledged before.
pub fn acknowledged(path: &Path) -> u64 {
    match read(path) {
        Ok(Some((_, receipts))) => receipts.iter().map(|receipt| receipt.spans - receipt.rejected).sum(),
        _ => 0,
    }
}

fn read(path: &Path) -> anyhow::Result<Option<(Task, Vec<Receipt>)>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    };
    let mut lines = text.lines();
    let task = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let task =
        task.with_context(|| format!("`{}` is damaged; begin anew without --resume", path.display()))?;
    // The last line may be cut off. Its request is sent again.
    let receipts = lines.map_while(|line| serde_json::from_str::<Line>(line).ok());
    let receipt = |line: Line| Receipt {
        first_span: line.first_span,
        spans: line.spans,
        rejected: line.rejected.min(line.spans),
    };
    Ok(Some((task, receipts.map(receipt).collect())))
}

fn write_line(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = path(&folder.path().join("life.kperf"));
        assert!(place.ends_with("life.kperf.sent"));
        let task = Task::new(&Header::default(), "--max-depth 3".into(), &Config::default());
        assert!(Journal::resume(&place, &task).expect("no error").is_none());
        let mut journal = Journal::create(&place, &task).expect("a journal");
        let receipts = [(0, 10, 0), (20, 10, 3)].map(|(first_span, spans, rejected)| Receipt {
            first_span,
            spans,
            rejected,
        });
        for receipt in receipts {
            journal.note(receipt);
        }
        // The process was killed in the middle of a line.
        journal.0.write_all(b"{\"first_sp").expect("room");
        assert_eq!(acknowledged(&place), 17);
        let (_, read) = Journal::resume(&place, &task).expect("no error").expect("a journal");
        assert_eq!(read, receipts);
        let other = Task { endpoint: "http://b/".into(), ..task };
        let Err(error) = Journal::resume(&place, &other) else { panic!("it went on elsewhere") };
        assert!(
            error.to_string().contains("is of the endpoint http://localhost:4318/v1/traces, not http://b/"),
            "{error}"
        );
    }
}
