//! The files of a trace, written one after the other.

use super::output::{Output, Sink};
use super::rotation::Rotation;
use super::suspended;
use crate::clock::source::Clock;
use kperf_trace::{Header, Summary, TraceWriter, Written};
use std::io;
use std::time::{Duration, Instant};

/// Opens the file with a number.
pub(crate) type Open = Box<dyn FnMut(u32) -> io::Result<Box<dyn Sink>> + Send>;

/// Losses: what is not in the trace.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    pub(super) events: u64,
    pub(super) blocks: u64,
}

/// How long to wait after a file could not be created.
const PATIENCE: Duration = Duration::from_secs(1);

/// The current file of a trace, and what the next one begins with.
pub(crate) struct Files {
    rotation: Option<(Rotation, Open)>,
    header: Header,
    trace: TraceWriter<Output>,
    begun: Instant,
    /// When another file may be begun.
    next_try: Instant,
    /// How many files were begun.
    number: u32,
    /// The symbol tables. The first `tables_written` are in the file.
    tables: Vec<Vec<u8>>,
    tables_written: usize,
    /// How many functions they have.
    functions: u32,
    names_suspended: bool,
    /// What is in earlier files.
    before: Written,
    lost_before: Lost,
}

impl Files {
    /// Begins the only file.
    pub(crate) fn one(sink: Box<dyn Sink>, header: Header) -> io::Result<Files> {
        Files::begin(sink, header, None)
    }

    /// Begins the first of several files.
    pub(crate) fn several(rotation: Rotation, mut open: Open, header: Header) -> io::Result<Files> {
        Files::begin(open(0)?, header, Some((rotation, open)))
    }

    fn begin(sink: Box<dyn Sink>, header: Header, rotation: Option<(Rotation, Open)>) -> io::Result<Files> {
        let now = Instant::now();
        Ok(Files {
            trace: TraceWriter::new(Output(sink), &header)?,
            rotation,
            header,
            begun: now,
            next_try: now,
            number: 1,
            tables: Vec::new(),
            tables_written: 0,
            functions: 0,
            names_suspended: false,
            before: Written::default(),
            lost_before: Lost::default(),
        })
    }

    /// Whether there may be another file.
    pub(super) fn rotates(&self) -> bool {
        self.rotation.is_some()
    }

    /// How many files were begun.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// How many functions the symbol tables have.
    pub(super) fn functions(&self) -> u32 {
        self.functions
    }

    pub(super) fn trace(&mut self) -> &mut TraceWriter<Output> {
        &mut self.trace
    }

    /// Adds a symbol table of `functions` functions, to be written before anything else.
    pub(crate) fn add_symbols(&mut self, table: Vec<u8>, functions: u32) {
        self.tables.push(table);
        self.functions += functions;
    }

    /// Adds the symbol table of `[suspended]`.
    pub(super) fn name_suspended(&mut self) {
        if !std::mem::replace(&mut self.names_suspended, true) {
            self.tables.push(suspended::table());
        }
    }

    /// Writes the missing symbol tables, and then calls `write`.
    pub(crate) fn symbols_and(
        &mut self,
        write: impl FnOnce(&mut TraceWriter<Output>) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(table) = self.tables.get(self.tables_written) {
            self.trace.symbols(table)?;
            self.tables_written += 1;
        }
        if self.rotation.is_none() {
            self.tables.clear();
            self.tables_written = 0;
        }
        write(&mut self.trace)
    }

    /// Begins another file if it is time for it.
    pub(super) fn begin_if_due(&mut self, clock: &Clock) -> Option<io::Result<TraceWriter<Output>>> {
        let (rotation, open) = self.rotation.as_mut()?;
        let now = Instant::now();
        if now < self.next_try || !rotation.is_due(self.trace.written().bytes, now - self.begun) {
            return None;
        }
        self.next_try = now + PATIENCE;
        self.header.anchor = clock.anchor();
        Some(open(self.number).and_then(|sink| TraceWriter::new(Output(sink), &self.header)))
    }

    /// Ends the file and continues in the next one. `lost` is the total so far.
    pub(super) fn go_on(
        &mut self,
        begun: TraceWriter<Output>,
        summary: Summary,
        lost: Lost,
    ) -> io::Result<()> {
        let summary = self.complete(summary, lost);
        let ended = std::mem::replace(&mut self.trace, begun);
        self.before = add(self.before, ended.written());
        self.lost_before = lost;
        self.begun = Instant::now();
        self.next_try = self.begun;
        self.number += 1;
        self.tables_written = 0;
        ended.finish(&summary).map(drop)
    }

    /// Adds the file's counts to a summary.
    pub(super) fn complete(&self, summary: Summary, lost: Lost) -> Summary {
        let written = self.trace.written();
        let lost = Lost {
            events: lost.events.saturating_sub(self.lost_before.events),
            blocks: lost.blocks.saturating_sub(self.lost_before.blocks),
        };
        Summary {
            events: written.events + lost.events,
            blocks: written.blocks + lost.blocks,
            dropped_events: lost.events,
            probes: self.functions,
            ..summary
        }
    }

    /// The counts of all files.
    pub(super) fn written(&self) -> Written {
        add(self.before, self.trace.written())
    }

    /// Ends the last file.
    pub(super) fn finish(self, summary: &Summary) -> io::Result<()> {
        self.trace.finish(summary).map(drop)
    }
}

fn add(a: Written, b: Written) -> Written {
    Written { events: a.events + b.events, blocks: a.blocks + b.blocks, bytes: a.bytes + b.bytes }
}
