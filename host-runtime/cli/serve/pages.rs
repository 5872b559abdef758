//! What pages send: the parts of their traces, which become files, reports and spans.

use super::report;
use crate::output::tell;
use crate::run::live::Live;
use anyhow::Context;
use kperf_otlp::exporter::Spool;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The traces of all pages and workers so far.
pub struct Pages {
    folder: PathBuf,
    /// What the files are called: `NAME-1.kperf`.
    name: String,
    /// Where spans go, if they do: an endpoint, empty for that of the environment.
    otlp: Option<String>,
    /// How many functions a report has.
    top: usize,
    traces: Mutex<HashMap<String, Trace>>,
}

/// A part of a page's trace.
pub struct Part {
    /// The trace's random number, as the page says it.
    pub trace: String,
    /// The part's number, from 0.
    pub number: u32,
    /// Whether no other has a higher number.
    pub is_last: bool,
    /// Whole chunks of the trace.
    pub bytes: Vec<u8>,
}

/// A trace to which nothing is added any more.
pub struct Whole {
    path: PathBuf,
    live: Live,
}

/// Parts that came before their turn; more are refused, and come again.
const EARLY: usize = 64;

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
    /// None yet.
    pub fn new(folder: PathBuf, name: String, otlp: Option<String>, top: usize) -> Pages {
        Pages { folder, name, otlp, top, traces: Mutex::default() }
    }

    /// Takes a part; one that is there already changes nothing. Answers the trace if that makes it whole.
    pub fn take(&self, part: Part) -> anyhow::Result<Option<Whole>> {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = match traces.entry(part.trace.clone()) {
            Entry::Occupied(trace) => trace.into_mut(),
            Entry::Vacant(place) => place.insert(self.begin()?),
        };
        trace.add(part)?;
        Ok(trace.is_whole().then(|| trace.end()))
    }

    /// Ends and reports the traces that are not whole: the server is about to stop.
    pub fn stop(&self) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        for trace in traces.values_mut().filter(|trace| trace.file.is_some()) {
            if let Err(error) = trace.write_all() {
                tell(format_args!("error: {error:#}"));
            }
            self.finish(trace.end());
        }
    }

    /// Makes the next free file.
    fn begin(&self) -> anyhow::Result<Trace> {
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("failed to make the folder `{}`", self.folder.display()))?;
        let path = (1..)
            .map(|number: u32| self.folder.join(format!("{}-{number}.kperf", self.name)))
            .find(|path| !path.exists())
            .context("there is no free name for a trace")?;
        let live = Live::default();
        let file = match &self.otlp {
            Some(endpoint) => live.begin(endpoint, &path, false)?,
            None => {
                let (spool, _) = Spool::create(&path)
                    .with_context(|| format!("failed to create the trace `{}`", path.display()))?;
                spool
            }
        };
        tell(format_args!("{}: a page records", path.display()));
        Ok(Trace { path, file: Some(file), live, next: 0, early: BTreeMap::new(), last: None })
    }

    /// Reports a trace, and waits until its spans are sent.
    pub fn finish(&self, Whole { path, live }: Whole) {
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
        if self.early.len() >= EARLY && part.number != self.next {
            anyhow::bail!("too many parts came before the part {}", self.next);
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

    /// Writes what waits for parts that never came: a reader tells of the gap.
    fn write_all(&mut self) -> anyhow::Result<()> {
        for bytes in std::mem::take(&mut self.early).into_values() {
            self.write(&bytes)?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(bytes).with_context(|| format!("failed to write `{}`", self.path.display()))
    }

    fn end(&mut self) -> Whole {
        self.file = None;
        Whole { path: self.path.clone(), live: self.live.clone() }
    }
}
