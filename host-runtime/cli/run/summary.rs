//! Sums a trace up while it is recorded, so that its table is there when the run ends.
#![allow(unsafe_code)] // The C library knows priorities.

use crate::shared::symbols::SymbolArgs;
use crate::shared::traces;
use anyhow::Context;
use kperf_profile::{GrowingProfile, Profile};
use kperf_trace::TraceReader;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A summary in the making, if there is one. Clones share it.
#[derive(Clone, Default)]
pub struct Summary(Arc<Mutex<Option<Begun>>>);

struct Begun {
    trace: PathBuf,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Reading>>,
}

/// What was read so far.
struct Reading {
    reader: TraceReader<BufReader<Followed>>,
    growing: GrowingProfile,
}

/// How much is read at a time.
const BUFFER: usize = 1 << 20;
/// How long the reader waits where the trace ends so far.
const WAIT: Duration = Duration::from_millis(20);
/// The reader's thread may use what guest, writer and ticker leave.
const NICE: libc::c_int = 10;

impl Summary {
    /// Begins to read a trace, if it is a file and there is a processor for it.
    pub fn begin(trace: &Path) -> Summary {
        Summary(Arc::new(Mutex::new(Begun::new(trace))))
    }

    /// The profile of the trace, which is complete now; `None` if it wasn't read meanwhile.
    pub fn finish(&self) -> Option<anyhow::Result<Profile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(Begun::finish)
    }
}

impl Begun {
    fn new(trace: &Path) -> Option<Begun> {
        if thread::available_parallelism().map_or(1, usize::from) < 2 {
            return None;
        }
        let file = File::open(trace).ok().filter(|_| trace.is_file())?;
        let names = SymbolArgs::default().namer(trace, true).ok()?;
        let ended = Arc::new(AtomicBool::new(false));
        let followed = Followed { file, ended: ended.clone() };
        let is_over = ended.clone();
        let read = move || {
            // SAFETY: it takes numbers; 0 is the calling thread on Linux. Where it fails the thread has the usual priority.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
            }
            let reader = TraceReader::new(BufReader::with_capacity(BUFFER, followed))?.with_names(names);
            let mut reading = Reading { growing: GrowingProfile::of(reader.header()), reader };
            // The rest is read by the thread that waits for it, which has its usual priority.
            while !is_over.load(Ordering::Acquire) && reading.step()? {}
            Ok(reading)
        };
        let thread = thread::Builder::new().name("kperf-summary".into()).spawn(read).ok()?;
        Some(Begun { trace: trace.to_owned(), ended, thread })
    }

    fn finish(self) -> anyhow::Result<Profile> {
        self.ended.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let mut reading = self.thread.join().ok().context("the thread that reads the trace has ended")??;
        let progress = traces::bar(self.trace.metadata().map_or(0, |metadata| metadata.len()));
        while reading.step()? {
            progress.set_position(reading.reader.offset());
        }
        progress.finish_and_clear();
        Ok(reading.growing.into_profile(&reading.reader))
    }
}

impl Reading {
    /// Takes the next item; false at the end.
    fn step(&mut self) -> io::Result<bool> {
        let Some(item) = self.reader.next()? else { return Ok(false) };
        self.growing.push(&item);
        Ok(true)
    }
}

/// A file that grows.
struct Followed {
    file: File,
    /// Whether it has its last byte.
    ended: Arc<AtomicBool>,
}

impl Read for Followed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            let count = self.file.read(into)?;
            if count > 0 || ended {
                return Ok(count);
            }
            thread::park_timeout(WAIT);
        }
    }
}
