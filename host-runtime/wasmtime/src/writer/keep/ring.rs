//! The last chunks of a trace, in memory instead of a file.
//!
//! * Chunks leave in the order in which they came. What a block that leaves has changed in the open calls is followed, so the calls
//!   that are open where a lane's part begins are always known.
//! * Symbol tables stay.

use crate::writer::open_calls::{Change, OpenCalls};
use kperf_trace::{Anchor, ChunkKind};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The kept chunks.
pub(crate) struct Ring {
    limit: usize,
    /// In ticks; `u64::MAX` for no limit.
    age: u64,
    bytes: usize,
    entries: VecDeque<Entry>,
    tables: Vec<Arc<[u8]>>,
    /// In the order of their ticks. The first may be before the kept events.
    anchors: VecDeque<Anchor>,
    /// Where the part of each recorder begins.
    beginnings: BTreeMap<u32, Beginning>,
    /// The time of the newest event, and of the newest that has left.
    newest: u64,
    gone: u64,
    /// Lost events in chunks that have left.
    lost: u64,
}

/// A chunk.
#[derive(Clone)]
struct Entry {
    chunk: Arc<[u8]>,
    events: u64,
    end: u64,
    /// What a block changes.
    effect: Option<Effect>,
    /// Whether it is a lane's first block.
    is_first: bool,
}

/// What a block changes in the open calls of its lane.
#[derive(Clone)]
pub(super) enum Effect {
    Of(Change),
    /// All that is open after a block that switches stacks.
    All(OpenCalls),
}

/// What precedes the first kept block of a recorder.
#[derive(Clone, Default)]
struct Beginning {
    open: OpenCalls,
    /// Whether its blocks have slow calls that samples saw.
    spans: bool,
    /// The chunks of the parents that apply, by stack.
    parents: BTreeMap<u32, Arc<[u8]>>,
}

/// What a dump begins with, and its chunks.
pub(super) struct Snapshot {
    pub(super) tables: Vec<Arc<[u8]>>,
    pub(super) anchors: Vec<Anchor>,
    pub(super) openings: Vec<Opening>,
    /// With the numbers of their events.
    pub(super) chunks: Vec<(Arc<[u8]>, u64)>,
    pub(super) newest: u64,
    /// All later events are in the chunks.
    pub(super) gone: u64,
    /// How many calls are open at the beginnings, and in how many lanes they are unknown.
    pub(super) open: u64,
    pub(super) unknown: u64,
    /// Lost events before the chunks, and in them.
    pub(super) lost_before: u64,
    pub(super) lost: u64,
}

/// Where the part of a recorder begins.
pub(super) struct Opening {
    pub(super) recorder: u32,
    pub(super) spans: bool,
    pub(super) parents: Vec<Arc<[u8]>>,
    pub(super) block: Option<Vec<u8>>,
}

/// Writes into a ring. The writer's thread alone uses both.
pub(crate) struct RingSink(pub(crate) Arc<Mutex<Ring>>);

impl io::Write for RingSink {
    /// Takes a whole chunk, as [`TraceWriter`](kperf_trace::TraceWriter) writes them.
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes the place of the stack's number where a parent is for all stacks.
const ALL_STACKS: u32 = u32::MAX;
/// Length of a chunk's header.
const HEADER: usize = 28;

impl Ring {
    /// A ring for so many bytes, and events of this age in ticks.
    pub(crate) fn new(limit: usize, age: u64) -> Ring {
        Ring {
            limit,
            age,
            bytes: 0,
            entries: VecDeque::new(),
            tables: Vec::new(),
            anchors: VecDeque::new(),
            beginnings: BTreeMap::new(),
            newest: 0,
            gone: 0,
            lost: 0,
        }
    }

    fn put(&mut self, chunk: &[u8]) {
        let Some(kind) = kind(chunk) else { return };
        match kind {
            // A dump has its own.
            ChunkKind::HEADER | ChunkKind::END => {}
            ChunkKind::SYMBOLS => self.tables.push(chunk.into()),
            ChunkKind::ANCHOR => {
                let [ticks, unix_nanos] = [HEADER, HEADER + 8].map(|at| number(chunk, at));
                self.anchors.push_back(Anchor { ticks, unix_nanos });
            }
            _ => {
                let entry =
                    Entry { chunk: chunk.into(), events: 0, end: self.newest, effect: None, is_first: false };
                self.bytes += entry.bytes();
                self.entries.push_back(entry);
            }
        }
    }

    /// Adds to the last chunk, a block, what it holds. Then drops what is too old.
    pub(super) fn note(&mut self, events: u64, end: u64, effect: Option<Effect>, is_first: bool) {
        if let Some(entry) = self.entries.back_mut() {
            self.bytes -= entry.bytes();
            *entry = Entry { events, end, effect, is_first, chunk: entry.chunk.clone() };
            self.bytes += entry.bytes();
        }
        self.newest = self.newest.max(end);
        self.drop_old();
    }

    fn drop_old(&mut self) {
        let (limit, age, newest) = (self.limit, self.age, self.newest);
        while let bytes = self.bytes
            && let Some(entry) =
                self.entries.pop_front_if(|entry| bytes > limit || newest.saturating_sub(entry.end) > age)
        {
            self.bytes -= entry.bytes();
            self.leave(entry);
        }
        while self.anchors.get(1).is_some_and(|second| second.ticks <= self.gone) {
            self.anchors.pop_front();
        }
    }

    fn leave(&mut self, entry: Entry) {
        let Entry { chunk, end, effect, is_first, .. } = entry;
        let recorder = number(&chunk, 8) as u32;
        match kind(&chunk) {
            Some(ChunkKind::LOST) => {
                self.lost = self.lost.saturating_add(number(&chunk, HEADER));
                return;
            }
            Some(kind @ (ChunkKind::EVENTS | ChunkKind::SPANS)) => {
                let beginning = self.beginnings.entry(recorder).or_default();
                beginning.spans = kind == ChunkKind::SPANS;
                if is_first {
                    beginning.open = OpenCalls::default();
                }
                match effect {
                    Some(Effect::Of(change)) => beginning.open.apply(&change),
                    Some(Effect::All(open)) => beginning.open = open,
                    None => {}
                }
            }
            Some(ChunkKind::PARENT) => {
                let beginning = self.beginnings.entry(recorder).or_default();
                let stack = number(&chunk, HEADER) as u32;
                let is_none =
                    chunk.get(HEADER + 5..HEADER + 29).is_none_or(|ids| ids.iter().all(|&byte| byte == 0));
                if stack == ALL_STACKS {
                    beginning.parents.clear();
                }
                match is_none {
                    true => drop(beginning.parents.remove(&stack)),
                    false => drop(beginning.parents.insert(stack, chunk)),
                }
                return;
            }
            _ => {}
        }
        self.gone = self.gone.max(end);
    }

    /// What a dump has of it now.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (mut openings, mut open, mut unknown) = (Vec::new(), 0, 0);
        // If the first kept block of a number is the first of a lane, nothing was open before it.
        let (mut seen, mut begins) = (HashSet::new(), HashSet::new());
        for entry in self.entries.iter().filter(|entry| entry.effect.is_some()) {
            let recorder = number(&entry.chunk, 8) as u32;
            if seen.insert(recorder) && entry.is_first {
                begins.insert(recorder);
            }
        }
        for (&recorder, Beginning { open: calls, spans, parents }) in &self.beginnings {
            let block = calls.opening().filter(|_| !begins.contains(&recorder));
            if calls.count() > 0 && !begins.contains(&recorder) {
                open += if block.is_some() { calls.count() as u64 } else { 0 };
                unknown += u64::from(block.is_none());
            }
            let parents: Vec<_> = parents.values().cloned().collect();
            if block.is_some() || !parents.is_empty() {
                openings.push(Opening { recorder, spans: *spans, parents, block });
            }
        }
        let lost = self.entries.iter().filter(|entry| kind(&entry.chunk) == Some(ChunkKind::LOST));
        Snapshot {
            tables: self.tables.clone(),
            anchors: self.anchors.iter().copied().collect(),
            openings,
            chunks: self.entries.iter().map(|entry| (entry.chunk.clone(), entry.events)).collect(),
            newest: self.newest,
            gone: self.gone,
            open,
            unknown,
            lost_before: self.lost,
            lost: lost.map(|entry| number(&entry.chunk, HEADER)).sum(),
        }
    }
}

impl Entry {
    /// The memory that it takes.
    fn bytes(&self) -> usize {
        let effect = match &self.effect {
            None => 0,
            Some(Effect::Of(change)) => size_of_val(&*change.opened),
            Some(Effect::All(open)) => 64 + 16 * open.count(),
        };
        size_of::<Entry>() + 32 + self.chunk.len() + effect
    }
}

fn kind(chunk: &[u8]) -> Option<ChunkKind> {
    (chunk.len() >= HEADER).then(|| chunk.get(4..)?.first_chunk().copied().map(ChunkKind)).flatten()
}

/// Eight bytes of a chunk as a number; the lower half is a u32 there.
fn number(chunk: &[u8], at: usize) -> u64 {
    chunk.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
