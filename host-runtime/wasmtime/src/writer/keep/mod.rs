//! A flight recorder: keeps the last chunks in memory, counts all calls, and writes dumps.

mod dump;
mod fold;
mod ring;

pub(crate) use ring::{Ring, RingSink};

use super::open_calls::OpenCalls;
use crate::keep::Keep;
use crate::numbered::numbered;
use crate::outlet::Outlet;
use crate::outlet::notice::Notice;
use crate::outlet::queue::{Message, Wanted};
use dump::Dump;
use fold::{Fold, Folded, Watched};
use kperf_abi::word::Reason;
use kperf_trace::{Header, Kept, Summary, Window};
use ring::{Effect, Snapshot};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The name of the thread that writes a dump.
pub(crate) const THREAD: &str = "kperf-dump";
/// How many dumps there are for one cause, of those that no host asked for; and in all, without those with a path.
const MOST_AUTOMATIC: u32 = 16;
const MOST: u32 = 100;
/// The least time between the beginnings of two of these.
const APART: Duration = Duration::from_secs(1);

/// Where a dump goes.
struct Target {
    path: PathBuf,
    why: String,
    done: Option<Sender<io::Result<()>>>,
}

/// The state of a recorder's number.
#[derive(Default)]
struct Head {
    open: OpenCalls,
    watched: Vec<Watched>,
}

/// A flight recorder, of the writer's thread.
pub(crate) struct Keeper {
    ring: Arc<Mutex<Ring>>,
    header: Header,
    outlet: Arc<Outlet>,
    fold: Fold,
    /// Of functions that may be slow.
    names: HashMap<u32, Arc<str>>,
    heads: BTreeMap<u32, Head>,
    to: Option<PathBuf>,
    waiting: VecDeque<Target>,
    /// Why the next numbered dump is to be written.
    pending: Option<String>,
    /// How many numbered dumps there were, and when the last began.
    number: u32,
    begun: Option<Instant>,
    /// How many were for failures, and for slow calls.
    automatic: [u32; 2],
    /// The last words of lanes, which the ring has later.
    peeks: BTreeMap<u32, Vec<u8>>,
    /// The dump that waits for the words of all lanes.
    next: Option<Target>,
    job: Option<JoinHandle<()>>,
    /// How many blocks came so far, and before the last numbered dump.
    blocks: u64,
    dumped: Option<u64>,
}

impl Keeper {
    pub(crate) fn new(keep: Keep, ring: Arc<Mutex<Ring>>, header: Header, outlet: Arc<Outlet>) -> Keeper {
        Keeper {
            ring,
            header,
            outlet,
            fold: Fold::new(keep.slower),
            names: HashMap::new(),
            heads: BTreeMap::new(),
            to: keep.to,
            waiting: VecDeque::new(),
            pending: None,
            number: 0,
            begun: None,
            automatic: [0; 2],
            peeks: BTreeMap::new(),
            next: None,
            job: None,
            blocks: 0,
            dumped: None,
        }
    }

    /// Adds the functions of a module.
    pub(crate) fn add_symbols(&mut self, table: &[u8]) {
        let clock = &self.outlet.clock;
        self.names.extend(self.fold.add(table, |time| clock.ticks(time)));
    }

    /// A block was written to the ring.
    pub(super) fn block(&mut self, recorder: u32, block: &[u8], events: u64, is_first: bool) {
        self.blocks += 1;
        self.peeks.remove(&recorder);
        let head = self.heads.entry(recorder).or_default();
        if is_first {
            *head = Head::default();
        }
        let Folded { change, last, slow, failed } = self.fold.block(block, &mut head.watched);
        let effect = match change {
            Some(change) => {
                head.open.apply(&change);
                Effect::Of(change)
            }
            None => {
                head.open.follow(block);
                Effect::All(head.open.clone())
            }
        };
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).note(events, last, Some(effect), is_first);
        if let Some(reason) = failed {
            let why = if reason == Reason::Trap {
                "trap"
            } else {
                "an error of the host, or an uncaught exception"
            };
            self.happened(0, why.to_owned());
        }
        if let Some((id, took)) = slow {
            let took = Duration::from_nanos(self.outlet.clock.nanos(took));
            let name = self.names.get(&id).map_or("a function", |name| name);
            self.happened(1, format!("a call of {name} took {took:.1?}"));
        }
    }

    /// A lane's block has these words still.
    pub(super) fn peek(&mut self, recorder: u32, block: Vec<u8>) {
        self.peeks.insert(recorder, block);
    }

    /// A window of a profile was written to the ring.
    pub(super) fn window(&mut self, window: &Window) {
        window.calls.iter().for_each(|&(id, calls)| self.fold.count(id.0, calls));
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).note(0, window.end_ticks, None, false);
    }

    /// Something that a dump shows.
    fn happened(&mut self, cause: usize, why: String) {
        if self.to.is_some() && self.pending.is_none() && self.automatic[cause] < MOST_AUTOMATIC {
            self.automatic[cause] += 1;
            self.pending = Some(why);
        }
    }

    /// The host asks for a dump.
    pub(super) fn want(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::At(path, done) => {
                let why = "the host asked for it".to_owned();
                self.waiting.push_back(Target { path, why, done: Some(done) });
            }
            Wanted::Numbered(why) => _ = self.pending.get_or_insert(why),
        }
    }

    /// When the next dump may begin, if there is one and no other is written.
    pub(super) fn due(&self) -> Option<Instant> {
        self.pending.as_ref().filter(|_| self.job.is_none())?;
        Some(self.begun.map_or_else(Instant::now, |begun| begun + APART))
    }

    /// Whether a dump is to begin, before which the words of all lanes are to be collected.
    pub(super) fn begins(&mut self, ends: bool) -> bool {
        if self.job.as_ref().is_some_and(|job| !job.is_finished()) || self.next.is_some() {
            return false;
        }
        self.join();
        self.next = self.waiting.pop_front();
        let is_due = self.due().is_some_and(|due| ends || due <= Instant::now());
        if self.next.is_none() && is_due {
            let why = self.pending.take().unwrap_or_default();
            // At the end the last dump may have everything.
            let has_new = !ends || self.dumped != Some(self.blocks);
            if let Some(to) = self.to.as_ref().filter(|_| has_new && self.number < MOST) {
                self.number += 1;
                self.begun = Some(Instant::now());
                self.next = Some(Target { path: numbered(to, self.number), why, done: None });
            }
        }
        self.next.is_some()
    }

    /// The words of all lanes are in the ring: another thread writes the dump, and wakes the writer's when it has ended.
    pub(super) fn begin(&mut self, summary: Summary) {
        let Some(Target { path, why, done }) = self.next.take() else { return };
        if done.is_none() {
            // It has what came meanwhile.
            self.pending = None;
            self.dumped = Some(self.blocks);
        }
        let dump = self.dump(&why, summary);
        let outlet = self.outlet.clone();
        let write = move || {
            let written = dump.write(&path, &outlet.progress.dumped);
            outlet.notices.report(&match &written {
                Ok(()) => Notice::Dumped { path: &path, why: &why },
                Err(error) => Notice::DumpFailed { path: &path, error },
            });
            drop(dump);
            if let Some(done) = done {
                let _ = done.send(written);
            }
            outlet.queue.send(Message::Wake);
        };
        // Without a thread, what waits for the dump learns that there is none.
        self.job = std::thread::Builder::new().name(THREAD.into()).spawn(write).ok();
    }

    fn dump(&mut self, why: &str, summary: Summary) -> Dump {
        let snapshot = self.ring.lock().unwrap_or_else(PoisonError::into_inner).snapshot();
        let Snapshot { anchors, gone, newest, open, unknown, .. } = &snapshot;
        let peeks = std::mem::take(&mut self.peeks);
        let calls = self.fold.calls(peeks.values());
        let clock = &self.outlet.clock;
        let end_ticks = clock.stopwatch().unwrap_or(*newest);
        let all: u64 = calls.iter().map(|(_, calls)| calls).sum();
        let mut summary = Summary { outcome: format!("dump: {why}"), end_ticks, ..summary };
        if *gone > 0 {
            let length = match clock.is_count() {
                true => String::new(),
                false => {
                    let nanos = clock.nanos(end_ticks.saturating_sub(*gone));
                    format!(" of the last {:.3?}", Duration::from_nanos(nanos))
                }
            };
            let mut note =
                format!("a flight recorder has kept the calls{length}, of {all} since the recording began");
            if *open > 0 {
                note += &format!("; {open} were open before, and their times begin there");
            }
            if *unknown > 0 {
                note += &format!("; in {unknown} lanes it is not known which were open before");
            }
            summary.notes.insert(0, note);
        }
        let lost_events = snapshot.lost_before + snapshot.lost;
        let kept = Kept { why: why.to_owned(), complete_from_ticks: *gone, open: *open, calls, lost_events };
        let anchor = anchors.first().copied().unwrap_or(self.header.anchor);
        Dump { header: Header { anchor, ..self.header.clone() }, snapshot, peeks, summary, kept }
    }

    /// Writes what is still wanted. All blocks are in the ring.
    pub(super) fn finish(&mut self, mut summary: impl FnMut() -> Summary) {
        self.join();
        while self.next.is_some() || self.begins(true) {
            self.begin(summary());
            self.join();
        }
    }

    /// The dump is written. Its thread ends by itself: the writer waits for nobody.
    pub(super) fn has_written(&mut self) {
        self.job = None;
    }

    fn join(&mut self) {
        if let Some(job) = self.job.take() {
            let _ = job.join();
        }
    }
}
