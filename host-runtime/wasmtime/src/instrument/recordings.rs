//! The recordings of the process.

use super::lanes::{LanesByStore, StoreTable};
use super::options::{InstrumentOptions, To};
use crate::error::{ErrorKind, Result};
use crate::numbered::numbered;
use crate::recorder::handle::Recorder;
use std::collections::HashMap;
use std::fs::File;
use std::path::{PathBuf, absolute};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use wasmtime::Engine;

#[derive(Default)]
struct Recordings {
    /// The recordings that are still held.
    all: Vec<Held>,
    /// How often each file was begun. What was written stays.
    files: HashMap<PathBuf, u32>,
}

struct Held {
    lanes: Weak<StoreTable>,
    /// Where it goes, if that is a file of ours.
    path: Option<PathBuf>,
}

static RECORDINGS: Mutex<Option<Recordings>> = Mutex::new(None);

/// The lanes of the recording that the options name. Begins the recording if it isn't there.
pub(super) fn lanes(engine: &Engine, options: &InstrumentOptions) -> Result<LanesByStore> {
    let mut recordings = RECORDINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let Recordings { all, files } = recordings.get_or_insert_default();
    all.retain(|held| held.lanes.strong_count() > 0);
    let mut open = all.iter().filter_map(|held| Some((LanesByStore::upgrade(&held.lanes)?, &held.path)));
    let (recorder, path) = match &options.to {
        To::Recorder(recorder) => {
            let same = |lanes: &LanesByStore| Arc::ptr_eq(&lanes.recorder().recording, &recorder.recording);
            if let Some((lanes, _)) = open.find(|(lanes, _)| same(lanes)) {
                return Ok(lanes);
            }
            (recorder.clone(), None)
        }
        To::File(path) => {
            let path = absolute(path).map_err(begun)?;
            let is_open = |lanes: &LanesByStore| !lanes.recorder().recording.is_finished();
            if let Some((lanes, _)) = open.find(|(lanes, to)| **to == Some(path.clone()) && is_open(lanes)) {
                return Ok(lanes);
            }
            let times = files.entry(path.clone()).or_default();
            let file = File::create(numbered(&path, *times + 1)).map_err(begun)?;
            *times += 1;
            (Recorder::builder().clock(options.clock).sink(file).build(engine)?, Some(path))
        }
    };
    let lanes = LanesByStore::new(recorder);
    all.push(Held { lanes: lanes.downgrade(), path });
    Ok(lanes)
}

fn begun(source: std::io::Error) -> crate::Error {
    ErrorKind::Write { source, dropped_events: 0 }.into()
}
