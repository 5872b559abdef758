//! The runs of a dataset, without reading each of their files.

use crate::error::{Error, Result};
use crate::layout::{Part, run_of};
use crate::store::{KnownRun, Store};
use crate::tables::rows::RunRow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The runs of a dataset. A file of a single run has the run's id in its name, so it is read only when it is asked for:
/// there may be ten thousand such files.
pub(crate) struct KnownRuns<'a> {
    store: &'a Store,
    /// Of files that were joined, or read.
    read: HashMap<i64, KnownRun>,
    /// The generation, and the file.
    single: HashMap<i64, (i32, Part)>,
}

impl<'a> KnownRuns<'a> {
    /// Those that are there now.
    pub(crate) fn of(store: &'a Store) -> Result<KnownRuns<'a>> {
        let mut runs = KnownRuns { store, read: HashMap::new(), single: HashMap::new() };
        for part in store.parts::<RunRow>()? {
            match run_of(&part.name) {
                Some((id, generation)) => match runs.single.entry(id) {
                    Entry::Occupied(known) if known.get().0 >= generation => {}
                    Entry::Occupied(mut known) => _ = known.insert((generation, part)),
                    Entry::Vacant(place) => _ = place.insert((generation, part)),
                },
                None => runs.read_part(&part)?,
            }
        }
        let read = &runs.read;
        runs.single.retain(|id, (generation, _)| {
            read.get(id).is_none_or(|known| known.row.generation < *generation)
        });
        Ok(runs)
    }

    fn read_part(&mut self, part: &Part) -> Result<()> {
        let read = &mut self.read;
        self.store.read(part, |row: RunRow| {
            if read.get(&row.run_id).is_none_or(|known| known.row.generation < row.generation) {
                read.insert(row.run_id, KnownRun { row, partition: part.partition.clone() });
            }
            Ok(())
        })
    }

    /// A run, if it is there.
    pub(crate) fn get(&mut self, run_id: i64) -> Result<Option<KnownRun>> {
        if let Some((_, part)) = self.single.remove(&run_id)
            && let Err(error) = self.read_part(&part)
        {
            // It may have been joined with others meanwhile.
            let failed = |again| Error::because(error.to_string(), again);
            self.read = self.store.runs().map_err(failed)?;
            self.single.clear();
        }
        Ok(self.read.get(&run_id).cloned())
    }

    /// One more, or what it is now.
    pub(crate) fn insert(&mut self, known: KnownRun) {
        self.single.remove(&known.row.run_id);
        self.read.insert(known.row.run_id, known);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.read.len() + self.single.keys().filter(|id| !self.read.contains_key(id)).count()
    }
}
