//! Reads a trace, damaged or not.

use crate::anomaly::{Anomalies, Anomaly, AnomalyKind};
use crate::chunk::{self, ChunkHeader, ChunkKind};
use crate::codec::Unpacker;
use crate::columns::{self, Columns, MAX_BLOCK};
use crate::context::{CallParent, TraceContext, check_state};
use crate::decode::Decoded;
use crate::error::{Error, ErrorKind};
use crate::event::Batch;
use crate::header::{Anchor, ClockKind, Header};
use crate::json;
use crate::lanes::{Lanes, Segment};
use crate::summary::{Stall, StallKind, Summary};
use crate::window::Window;
use kperf_abi::block::{BlockHeader, STACKS};
use std::io::{self, Read};
use std::sync::Arc;

mod chunks;

use chunks::Chunks;

/// Reads a trace, item by item. It keeps one chunk in memory.
///
/// It collects faults of the trace in [`anomalies`](Self::anomalies), and reads the rest.
pub struct TraceReader<R: Read> {
    chunks: Chunks<R>,
    header: Header,
    summary: Option<Summary>,
    /// The parent that was read last.
    parent: CallParent,
    /// The window that was read last, and room for its bytes.
    window: Window,
    window_bytes: Vec<u8>,
    /// A chunk that was read in the search for the header.
    held: Option<ChunkHeader>,
    lanes: Lanes,
    unpacker: Unpacker,
    columns: Columns,
    decoded: Decoded,
    /// The batches of the last chunk, and how many of them were given.
    segments: Vec<Segment>,
    given: usize,
    /// Whether the batches have slow calls that a sampler saw, rather than all calls.
    spans: bool,
    phase: Phase,
    /// The source of better names of functions, and its last table.
    namer: Option<Box<dyn Namer + Send>>,
    renamed: Option<Arc<[u8]>>,
    beginning: Option<u64>,
}

/// Adds to the symbol tables of a trace: other names, lines of the source.
pub trait Namer {
    /// A symbol table to give instead of this one, as bytes; `None` keeps it.
    ///
    /// # Errors
    ///
    /// An error ends the reading.
    fn rename(&mut self, table: &[u8]) -> io::Result<Option<Arc<[u8]>>>;

    /// The trace was read to its end: there are no more tables.
    ///
    /// # Errors
    ///
    /// The reader's last call of [`TraceReader::next`] returns this error.
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Chunks,
    /// The end chunk was read, but not given yet.
    Ending,
    /// The file was read to its end, or to its end chunk.
    Done,
}

/// An item of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// The bytes of a symbol table: [`SymbolTable::from_bytes`](kperf_abi::SymbolTable::from_bytes) reads them. A trace
    /// has one for each module, before the first events that need it.
    Symbols(&'a [u8]),
    /// Events of one lane.
    Events(Batch<'a>),
    /// Slow calls of one lane that a sampler saw, as events. The windows of the lane's recorder count these calls too.
    Spans(Batch<'a>),
    /// A window of a profile: counts and samples of a period.
    Window(&'a Window),
    /// A period in which the recorded times are not exact.
    Stall(Stall),
    /// The parent of the calls that the host makes, from the recorder's next events on.
    Parent(&'a CallParent),
    /// One more moment, read on the trace's clock and on the calendar's, for a [`Calendar`](crate::Calendar).
    Anchor(Anchor),
    /// The end of the recording, and the last item.
    End(&'a Summary),
}

/// An [`Item`] that doesn't borrow yet.
enum Step {
    Symbols(ChunkHeader),
    Events(usize),
    Stall(Stall),
    Window,
    Parent,
    Anchor(Anchor),
    End,
    Nothing,
}

impl<R: Read> TraceReader<R> {
    /// Reads as far as the header. `input` is read in large pieces: it needs no buffer of its own.
    ///
    /// # Errors
    ///
    /// If the input fails, or if its bytes are not a trace that this version reads.
    pub fn new(input: R) -> Result<TraceReader<R>, Error> {
        let mut chunks = Chunks::new(input);
        let preamble = chunks.preamble()?;
        let version = preamble.strip_prefix(&chunk::MAGIC).and_then(|rest| rest.first_chunk());
        let minor = match version.copied() {
            Some([chunk::MAJOR, minor]) => minor,
            Some([major, minor]) => return Err(ErrorKind::Version { major, minor }.into()),
            None => return Err(ErrorKind::NotATrace { found: preamble.to_vec() }.into()),
        };
        let mut reader = TraceReader {
            chunks,
            header: Header::default(),
            summary: None,
            parent: CallParent::default(),
            window: Window::default(),
            window_bytes: Vec::new(),
            held: None,
            lanes: Lanes::default(),
            unpacker: Unpacker::new()?,
            columns: Columns::default(),
            decoded: Decoded::default(),
            segments: Vec::new(),
            given: 0,
            spans: false,
            phase: Phase::Chunks,
            namer: None,
            renamed: None,
            beginning: None,
        };
        if minor > chunk::MINOR {
            reader.chunks.note(AnomalyKind::NewerVersion { minor });
        }
        reader.chunks.start();
        reader.read_header()?;
        reader.lanes = Lanes::new(reader.header.clock.kind == ClockKind::Instructions);
        Ok(reader)
    }

    /// Gives the symbol tables with names from elsewhere.
    #[must_use]
    pub fn with_names(mut self, namer: Box<dyn Namer + Send>) -> TraceReader<R> {
        self.namer = Some(namer);
        self
    }

    /// Sets the trace's beginning ([`beginning`](crate::beginning)): times for people count from there. By default it is the
    /// beginning of the first block's lane.
    #[must_use]
    pub fn with_beginning(mut self, ticks: Option<u64>) -> TraceReader<R> {
        self.beginning = ticks;
        self
    }

    /// The trace's beginning in ticks, if it was set.
    pub fn beginning(&self) -> Option<u64> {
        self.beginning
    }

    /// The trace's clock and host. The default if the header is damaged, which is an anomaly.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The trace's summary. `None` until the end is read, and always if the trace was cut off.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// The faults so far, in the order of the file. Complete after [`next`](Self::next) has returned `None`.
    pub fn anomalies(&self) -> &[Anomaly] {
        self.chunks.anomalies.list()
    }

    /// How many bytes of the file were read, for progress.
    pub fn offset(&self) -> u64 {
        self.chunks.offset()
    }

    /// The next item; `None` at the end. (It borrows from the reader, so this is not an `Iterator`.)
    ///
    /// # Errors
    ///
    /// Only errors of the input.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        Ok(match self.step()? {
            Step::Symbols(chunk) => {
                if let Some(namer) = &mut self.namer {
                    self.renamed = namer.rename(self.chunks.payload(&chunk))?;
                }
                Some(Item::Symbols(match &self.renamed {
                    Some(table) => table,
                    None => self.chunks.payload(&chunk),
                }))
            }
            Step::Events(segment) => {
                let Segment { lane, depth, start_ticks, elsewhere, ref events } = self.segments[segment];
                let events = &self.decoded.events[events.clone()];
                let batch = Batch { lane, depth, start_ticks, elsewhere, events };
                Some(if self.spans { Item::Spans(batch) } else { Item::Events(batch) })
            }
            Step::Stall(stall) => Some(Item::Stall(stall)),
            Step::Window => Some(Item::Window(&self.window)),
            Step::Parent => Some(Item::Parent(&self.parent)),
            Step::Anchor(anchor) => Some(Item::Anchor(anchor)),
            Step::End => self.summary.as_ref().map(Item::End),
            Step::Nothing => {
                if let Some(mut namer) = self.namer.take() {
                    namer.end()?;
                }
                None
            }
        })
    }

    fn step(&mut self) -> io::Result<Step> {
        loop {
            if self.given < self.segments.len() {
                self.given += 1;
                return Ok(Step::Events(self.given - 1));
            }
            self.segments.clear();
            self.given = 0;
            match self.phase {
                Phase::Done => return Ok(Step::Nothing),
                Phase::Ending => {
                    self.chunks.nothing_behind()?;
                    self.phase = Phase::Done;
                    return Ok(Step::End);
                }
                Phase::Chunks => {}
            }
            let held = self.held.take();
            let chunk = if held.is_some() { held } else { self.chunks.next(&mut self.lanes)? };
            let Some(chunk) = chunk else {
                self.chunks.note(AnomalyKind::NoEnd);
                self.phase = Phase::Done;
                self.rest();
                continue;
            };
            match self.chunk(&chunk) {
                Ok(Some(step)) => return Ok(step),
                Ok(None) => {}
                Err(what) => self.chunks.note(AnomalyKind::Malformed { chunk: chunk.kind, what }),
            }
        }
    }

    /// Reads the first chunk. A chunk that is not a header is kept for later.
    fn read_header(&mut self) -> io::Result<()> {
        let first = self.chunks.next(&mut self.lanes)?;
        if let Some(chunk) = first.filter(|chunk| chunk.kind == ChunkKind::HEADER) {
            match json::read(self.chunks.payload(&chunk)) {
                Some((header, bad)) => {
                    self.header = header;
                    self.bad_fields(chunk.kind, bad);
                }
                None => self.chunks.note(AnomalyKind::NoHeader),
            }
        } else {
            self.chunks.note(AnomalyKind::NoHeader);
            self.held = first;
        }
        Ok(())
    }

    fn bad_fields(&mut self, chunk: ChunkKind, fields: Vec<String>) {
        for field in fields {
            self.chunks.note(AnomalyKind::BadField { chunk, field });
        }
    }

    /// The item of a chunk without events. Events are given by [`Self::step`], from `segments`.
    fn chunk(&mut self, chunk: &ChunkHeader) -> Result<Option<Step>, &'static str> {
        if chunk.kind.is_of_recorder() && !self.lanes.follows(chunk.recorder) {
            let recorder = chunk.recorder;
            self.chunks.note(AnomalyKind::TooManyLanes { recorder, events: None });
            return Ok(None);
        }
        let payload = self.chunks.payload(chunk);
        match chunk.kind {
            ChunkKind::HEADER => self.chunks.note(AnomalyKind::SecondHeader),
            ChunkKind::SYMBOLS => return Ok(Some(Step::Symbols(*chunk))),
            ChunkKind::STALL => {
                let (&kind, numbers) = payload.split_first().ok_or("it is empty")?;
                let ([start_ticks, nanos, ..], _) = numbers.as_chunks::<8>() else {
                    return Err("it is too short");
                };
                let kind = match kind {
                    0 => StallKind::Ticker,
                    1 => StallKind::Writer,
                    _ => return Err("a stall of unknown kind"),
                };
                let recorder = Some(chunk.recorder).filter(|&recorder| recorder != chunk::NO_RECORDER);
                let [start_ticks, nanos] = [*start_ticks, *nanos].map(u64::from_le_bytes);
                return Ok(Some(Step::Stall(Stall { kind, recorder, start_ticks, nanos })));
            }
            ChunkKind::LOST => {
                let events = payload.first_chunk().ok_or("it is too short")?;
                self.lanes.lose(chunk.recorder, chunk.sequence, u64::from_le_bytes(*events));
            }
            ChunkKind::PARENT => {
                self.parent = parent(chunk.recorder, payload)?;
                return Ok(Some(Step::Parent));
            }
            ChunkKind::ANCHOR => {
                let ([ticks, unix_nanos, ..], _) = payload.as_chunks::<8>() else {
                    return Err("it is too short");
                };
                let [ticks, unix_nanos] = [*ticks, *unix_nanos].map(u64::from_le_bytes);
                return Ok(Some(Step::Anchor(Anchor { ticks, unix_nanos })));
            }
            ChunkKind::END => {
                let (summary, bad) = json::read(payload).ok_or("its JSON can't be read")?;
                self.summary = Some(summary);
                self.bad_fields(chunk.kind, bad);
                self.phase = Phase::Ending;
                self.rest();
            }
            ChunkKind::EVENTS | ChunkKind::SPANS => self.events(chunk)?,
            ChunkKind::WINDOW => {
                let (unpacker, bytes) = (&mut self.unpacker, &mut self.window_bytes);
                self.window = Window::unpack(chunk.recorder, payload, unpacker, bytes)?;
                self.lanes.saw(self.window.start_ticks);
                return Ok(Some(Step::Window));
            }
            kind => self.chunks.note(AnomalyKind::UnknownChunk { chunk: kind }),
        }
        Ok(None)
    }

    fn events(&mut self, chunk: &ChunkHeader) -> Result<(), &'static str> {
        let recorder = chunk.recorder;
        self.spans = chunk.kind == ChunkKind::SPANS;
        match self.decode(chunk) {
            Ok(header) => {
                if let Some(gap) = self.lanes.arrive(recorder, chunk.sequence) {
                    self.chunks.note(gap);
                }
                let Decoded { unknown: count, first_unknown: first, .. } = self.decoded;
                if count != 0 {
                    self.chunks.note(AnomalyKind::UnknownWords { recorder, first, count });
                }
                let left_out = self.lanes.cut(recorder, header, &mut self.decoded, &mut self.segments);
                if left_out != 0 {
                    let events = Some(left_out);
                    self.chunks.note(AnomalyKind::TooManyLanes { recorder, events });
                }
                Ok(())
            }
            Err(what) => {
                self.lanes.spoil(recorder, chunk.sequence);
                Err(what)
            }
        }
    }

    /// Handles the end of the file: only losses after the last chunks are left.
    fn rest(&mut self) {
        self.spans = false;
        self.lanes.rest(self.header.anchor.ticks, &mut self.decoded.events, &mut self.segments);
    }

    /// Decodes an events chunk into `decoded`.
    fn decode(&mut self, chunk: &ChunkHeader) -> Result<BlockHeader, &'static str> {
        let payload = self.chunks.payload(chunk);
        let (&codec, block) = payload.split_first().ok_or("it is empty")?;
        let header = match codec {
            columns::RAW if block.len() > MAX_BLOCK => return Err("it is longer than a block"),
            columns::RAW => {
                let (header, words) = BlockHeader::split(block).ok_or("it ends inside the block's header")?;
                self.decoded.clear(header.start_ticks);
                self.decoded.raw(words)?;
                header
            }
            columns::COLUMNS => {
                let header = self.columns.unpack(payload, &mut self.unpacker)?;
                let (header, _) = BlockHeader::split(&header).ok_or("it has no block header")?;
                self.decoded.clear(header.start_ticks);
                self.decoded.columns(&self.columns)?;
                header
            }
            _ => return Err("its codec is unknown"),
        };
        if header.stack < STACKS { Ok(header) } else { Err("its stack is beyond the last") }
    }
}

/// Reads the payload of a [`ChunkKind::PARENT`].
fn parent(recorder: u32, payload: &[u8]) -> Result<CallParent, &'static str> {
    let short = "it is too short";
    let (&stack, rest) = payload.split_first_chunk::<4>().ok_or(short)?;
    let (&flags, rest) = rest.split_first().ok_or(short)?;
    let (&trace_id, rest) = rest.split_first_chunk::<16>().ok_or(short)?;
    let (&span_id, state) = rest.split_first_chunk::<8>().ok_or(short)?;
    // A tracestate has no byte 0: after a 0 come the additions of later versions.
    let state = state.split(|&byte| byte == 0).next().unwrap_or_default();
    let state = str::from_utf8(state).ok().and_then(|state| check_state(state).ok());
    let state = state.ok_or("its tracestate can't be handed on")?.to_owned();
    let stack = Some(u32::from_le_bytes(stack)).filter(|&stack| stack != chunk::ALL_STACKS);
    let context = TraceContext { trace_id, span_id, flags, state };
    let context = match (trace_id == [0; 16], span_id == [0; 8]) {
        (true, true) => None,
        (false, false) => Some(context),
        _ => return Err("half of its context is zero"),
    };
    Ok(CallParent { recorder, stack, context })
}
