//! Takes the parts of traces that pages send, and makes files, reports and spans of them.

use super::report;
use crate::output::tell;
use crate::run::live::{Live, Wanted};
use anyhow::{Context, anyhow};
use kperf_otlp::exporter::Spool;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The traces of all pages and workers so far.
pub struct Pages {
    folder: PathBuf,
    /// The files' name: `NAME-1.kperf` and so on.
    name: String,
    /// The endpoint for spans, if they are sent. Empty: the one of the environment.
    otlp: Option<Wanted>,
    /// How many functions a report has.
    top: usize,
    traces: Mutex<HashMap<String, Trace>>,
    /// Those who print reports and wait for spans.
    finishing: Mutex<Vec<JoinHandle<()>>>,
}

/// A part of a page's trace.
pub struct Part {
    /// The trace's random number, which the page chose.
    pub trace: String,
    /// The part's number, from 0.
    pub number: u32,
    /// Whether this is the trace's last part.
    pub is_last: bool,
    /// How many bytes of the trace the browser may not have sent when the page was closed.
    pub unsent: u64,
    /// Complete chunks of the trace.
    pub bytes: Vec<u8>,
}

/// A trace that has all of its parts.
pub struct Whole {
    path: PathBuf,
    live: Live,
}

/// How many parts may wait for an earlier one, and how many bytes. More are refused; the page sends them again.
const EARLY: usize = 64;
const EARLY_BYTES: usize = 512 << 20;

/// A part that could not be written. The page posts it again after a while, when there may be room for it.
#[derive(Debug)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a trace has no place")
    }
}

struct Trace {
    path: PathBuf,
    /// `None` when the trace has ended.
    file: Option<Spool>,
    live: Live,
    next: u32,
    early: BTreeMap<u32, Vec<u8>>,
    last: Option<u32>,
}

impl Pages {
    /// Starts without traces.
    pub fn new(folder: PathBuf, name: String, otlp: Option<Wanted>, top: usize) -> Pages {
        Pages { folder, name, otlp, top, traces: Mutex::default(), finishing: Mutex::default() }
    }

    /// Takes a part. A part that was taken before changes nothing. Returns the trace if that completes it.
    pub fn take(&self, part: Part) -> anyhow::Result<Option<Whole>> {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = match traces.entry(part.trace.clone()) {
            Entry::Occupied(trace) => trace.into_mut(),
            Entry::Vacant(place) => place.insert(self.begin()?),
        };
        trace.add(part)?;
        Ok(trace.is_whole().then(|| trace.end()))
    }

    /// Finishes a trace while the server goes on.
    pub fn finish_later(self: &Arc<Self>, whole: Whole) {
        let pages = self.clone();
        let mut finishing = self.finishing.lock().unwrap_or_else(PoisonError::into_inner);
        finishing.retain(|thread| !thread.is_finished());
        finishing.push(std::thread::spawn(move || pages.finish(whole)));
    }

    /// Ends and reports the traces that are not complete, before the server stops. Waits for those that are being finished.
    pub fn stop(&self) {
        let finishing = std::mem::take(&mut *self.finishing.lock().unwrap_or_else(PoisonError::into_inner));
        if self.otlp.is_some() && finishing.iter().any(|thread| !thread.is_finished()) {
            tell("waits until the spans are sent; Ctrl-C again ends it at once");
        }
        for thread in finishing {
            // It panicked, and said so.
            let _ = thread.join();
        }
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        for trace in traces.values_mut().filter(|trace| trace.file.is_some()) {
            if trace.next == 0 {
                let path = trace.path.display();
                tell(format_args!("error: {path}: its first part never came, so nothing of it can be read"));
            } else if let Err(error) = trace.write_all() {
                tell(format_args!("error: {error:#}"));
            }
            self.finish(trace.end());
        }
    }

    /// Makes a file with the next free name.
    fn begin(&self) -> anyhow::Result<Trace> {
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("failed to make the folder `{}`", self.folder.display()))?;
        let path = (1..)
            .map(|number: u32| self.folder.join(format!("{}-{number}.kperf", self.name)))
            .find(|path| !path.exists())
            .context("there is no free name for a trace")?;
        let live = Live::default();
        let file = match &self.otlp {
            Some(wanted) => live.begin(wanted, &path, false)?,
            None => {
                let (spool, _) = Spool::create(&path)
                    .with_context(|| format!("failed to create the trace `{}`", path.display()))?;
                spool
            }
        };
        tell(format_args!("{}: a page records", path.display()));
        Ok(Trace { path, file: Some(file), live, next: 0, early: BTreeMap::new(), last: None })
    }

    /// Prints a trace's report, and waits until its spans are sent.
    fn finish(&self, Whole { path, live }: Whole) {
        if let Err(error) = report::show(&path, self.top) {
            tell(format_args!("error: {error:#}"));
        }
        live.finish();
    }
}

impl Trace {
    fn add(&mut self, part: Part) -> anyhow::Result<()> {
        if self.file.is_none() || part.number < self.next {
            return Ok(());
        }
        if part.is_last {
            self.last = Some(part.number);
        }
        if part.unsent > 0 {
            tell(format_args!(
                "{}: up to {} bytes of its end may be missing: browsers send 64 KiB of a page that is closed",
                self.path.display(),
                part.unsent
            ));
        }
        let waiting: usize = self.early.values().map(Vec::len).sum();
        if part.number != self.next && (self.early.len() >= EARLY || waiting + part.bytes.len() > EARLY_BYTES)
        {
            let missing = self.next;
            return Err(
                anyhow!("part {missing} is missing, and too many later parts wait for it").context(NoRoom)
            );
        }
        self.early.insert(part.number, part.bytes);
        while let Some(bytes) = self.early.remove(&self.next) {
            self.write(&bytes)?;
            self.next += 1;
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.file.is_some() && self.last.is_some_and(|last| self.next > last)
    }

    /// Writes the parts that wait for others. If some are missing, readers report a gap.
    fn write_all(&mut self) -> anyhow::Result<()> {
        for bytes in std::mem::take(&mut self.early).into_values() {
            self.write(&bytes)?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.append(bytes)
            .with_context(|| format!("failed to write `{}`", self.path.display()))
            .context(NoRoom)
    }

    fn end(&mut self) -> Whole {
        self.file = None;
        Whole { path: self.path.clone(), live: self.live.clone() }
    }
}
