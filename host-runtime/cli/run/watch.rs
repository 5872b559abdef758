//! Shows a profile while it is recorded.

mod screen;

use crate::shared::table::color::ColorArg;
use crate::shared::table::fit::Shown;
use crate::shared::{table, traces};
use anyhow::Context;
use kperf_profile::GrowingProfile;
use kperf_trace::{Item, TraceReader};
use screen::{Latest, Screen};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// How many functions the profile at the end shows.
const TOP: usize = 20;

/// Shows a profile while it is recorded. Clones share it.
#[derive(Clone, Debug)]
pub struct Watch {
    limit: Option<usize>,
    color: ColorArg,
    reader: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Watch {
    /// Shows the first `limit` functions each time; as many as fit without one.
    pub fn new(limit: Option<usize>, color: ColorArg) -> Watch {
        Watch { limit, color, reader: Arc::default() }
    }

    /// Starts the reader. Returns the sink that feeds it and writes to the file.
    pub fn begin(&self, file: Option<File>, quiet: bool) -> anyhow::Result<impl Write + Send + use<>> {
        let (chunks, received) = mpsc::channel();
        let color = self.color.of(&io::stderr());
        let screen = Screen::new(self.limit, color);
        let read = move || {
            // A closed stderr doesn't stop the guest.
            let _ =
                follow(TraceReader::new(Chunks { received, rest: Vec::new(), at: 0 }), screen, color, quiet);
        };
        let thread = thread::Builder::new().name("kperf-top".into()).spawn(read);
        let thread = thread.context("failed to start a thread")?;
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(Tee { chunks, file })
    }

    /// Waits until the whole recording is shown. Call it after the recording has finished.
    pub fn finish(&self) {
        let thread = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic has printed its message.
        let _ = thread.map(JoinHandle::join);
    }
}

/// Shows each window of a trace, and at its end the profile of all.
fn follow(
    reader: Result<TraceReader<Chunks>, kperf_trace::Error>,
    mut screen: Screen,
    color: bool,
    quiet: bool,
) -> io::Result<()> {
    // A recording that never began has no header.
    let Ok(mut reader) = reader else { return Ok(()) };
    let mut growing = GrowingProfile::default();
    let mut latest = Latest::new(reader.header());
    while let Some(item) = reader.next()? {
        growing.push(&item);
        match item {
            Item::Symbols(bytes) => latest.symbols.add_bytes(bytes),
            Item::Window(window) => {
                latest.add(window);
                screen.show(&latest, &mut io::stderr().lock())?;
            }
            // The last item.
            Item::End(_) => break,
            _ => {}
        }
    }
    if quiet {
        return Ok(());
    }
    let profile = growing.profile(&reader);
    screen.clear(&mut io::stderr().lock())?;
    traces::report_health(&profile.health);
    table::print_top(&profile, TOP, Shown::on_stderr(color), io::stderr().lock())?;
    traces::show_hints(&profile, false);
    Ok(())
}

/// The recorder's sink.
struct Tee {
    chunks: Sender<Vec<u8>>,
    file: Option<File>,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without a reader, only the file is written.
        let _ = self.chunks.send(bytes.to_vec());
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

/// A reader of the written chunks that waits for more.
struct Chunks {
    received: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    at: usize,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() {
            // The recorder is gone.
            let Ok(more) = self.received.recv() else { return Ok(0) };
            (self.rest, self.at) = (more, 0);
        }
        let rest = self.rest.get(self.at..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
