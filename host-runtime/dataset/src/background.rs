//! A thread that adds runs to a dataset.

use crate::add::{Added, Adder, Outcome};
use crate::error::{Context, Result};
use crate::options::Options;
use crate::store::Store;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// A thread that adds runs to a dataset: of given traces, or of files that it has opened and that were closed. No call waits
/// for it, except [`finish`](Background::finish), so it may be used on an executor's threads.
///
/// A failure is reported and loses nothing: the trace stays, and can be added later. If this is dropped, the thread adds
/// what it was given, as long as the process lives; [`finish`](Background::finish) waits for that.
#[derive(Debug)]
pub struct Background {
    work: Sender<Work>,
    thread: JoinHandle<Account>,
}

/// The counts of added and failed runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Runs that are new in the dataset.
    pub new: u64,
    /// Runs that have grown.
    pub grown: u64,
    /// Runs that were in the dataset already.
    pub before: u64,
    /// Runs that could not be added.
    pub failed: u64,
}

impl Account {
    fn add(&mut self, outcome: &Result<Outcome>) {
        match outcome {
            Ok(Outcome { added: Added::New, .. }) => self.new += 1,
            Ok(Outcome { added: Added::Grown, .. }) => self.grown += 1,
            Ok(Outcome { added: Added::Before, .. }) => self.before += 1,
            Err(_) => self.failed += 1,
        }
    }
}

#[derive(Debug)]
enum Work {
    Add(PathBuf),
    Finish,
}

impl Background {
    /// Starts the thread. The dataset is opened, or made, before this returns. `report` is called in the thread, for each
    /// run.
    ///
    /// # Errors
    ///
    /// If the dataset can neither be opened nor made, or if the thread can't be started.
    pub fn start(
        dataset: &Path,
        options: Options,
        report: impl FnMut(&Path, &Result<Outcome>) + Send + 'static,
    ) -> Result<Background> {
        let (work, works) = mpsc::channel();
        let (opened, is_opened) = mpsc::channel();
        let dataset = dataset.to_owned();
        let run = move || match Store::open_or_create(&dataset) {
            Ok(store) => {
                // The other end waits.
                let _ = opened.send(Ok(()));
                add_all(&store, &options, &works, report)
            }
            Err(error) => {
                let _ = opened.send(Err(error));
                Account::default()
            }
        };
        let thread = thread::Builder::new().name("kperf-dataset".into()).spawn(run);
        let thread =
            thread.context_with(|| "the thread that adds runs to a dataset can't be started".into())?;
        is_opened.recv().context_with(|| "the thread that adds runs to a dataset is gone".into())??;
        Ok(Background { work, thread })
    }

    /// Adds the run of a trace's file, which is complete. Doesn't wait.
    pub fn add(&self, trace: &Path) {
        add(&self.work, trace);
    }

    /// Makes files for traces. Their runs are added when the files are closed.
    pub fn files(&self) -> TraceFiles {
        TraceFiles { work: self.work.clone() }
    }

    /// Waits until everything is added that was given so far. Files that are closed later aren't added: end the recording
    /// first. If `report` panicked, the thread ended there, and the account is empty.
    pub fn finish(self) -> Account {
        // If the thread is gone, joining it gives the error.
        let _ = self.work.send(Work::Finish);
        self.thread.join().unwrap_or_default()
    }
}

fn add(work: &Sender<Work>, trace: &Path) {
    // After the thread has ended, nothing is added; the trace stays.
    let _ = work.send(Work::Add(trace.to_owned()));
}

fn add_all(
    store: &Store,
    options: &Options,
    works: &Receiver<Work>,
    mut report: impl FnMut(&Path, &Result<Outcome>),
) -> Account {
    let mut account = Account::default();
    while let Ok(Work::Add(trace)) = works.recv() {
        // Others may change the dataset meanwhile, so it is looked at anew.
        let outcome = Adder::new(store, options.clone()).and_then(|mut adder| adder.add_file(&trace));
        account.add(&outcome);
        report(&trace, &outcome);
    }
    account
}

/// Makes files for traces. Clones make them for the same dataset.
#[derive(Clone, Debug)]
pub struct TraceFiles {
    work: Sender<Work>,
}

impl TraceFiles {
    /// A new file for a trace. When it is closed, its run is added: as the sink of a recorder when the recording has ended, or as one of
    /// several files of a rotated trace when the next one is written.
    ///
    /// # Errors
    ///
    /// As [`File::create`].
    pub fn create(&self, trace: impl Into<PathBuf>) -> io::Result<TraceFile> {
        let path = trace.into();
        Ok(TraceFile { file: Some(File::create(&path)?), path, work: self.work.clone() })
    }
}

/// A trace's file. Its run is added to a dataset when it is closed: see [`TraceFiles::create`].
#[derive(Debug)]
pub struct TraceFile {
    /// It is closed before anybody reads it.
    file: Option<File>,
    path: PathBuf,
    work: Sender<Work>,
}

impl Write for TraceFile {
    /// Writes all of it, or nothing: a part of a chunk of a trace would be no use.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Ok(0) };
        let begin = file.stream_position()?;
        if let Err(error) = file.write_all(bytes) {
            // If that fails too, readers pass over the part.
            let _ = file.seek(SeekFrom::Start(begin)).and_then(|_| file.set_len(begin));
            return Err(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        self.file = None;
        add(&self.work, &self.path);
    }
}
