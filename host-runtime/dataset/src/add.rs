//! Adds runs to a dataset.

use crate::error::{Context, Error, Result};
use crate::known::KnownRuns;
use crate::layout::{Partition, file_name, name_of};
use crate::options::Options;
use crate::store::{KnownRun, Store};
use crate::tables::calls::CallRows;
use crate::tables::collect::{Collected, RowOptions, collect};
use crate::tables::rows::{CallRow, FunctionRow, PathRow, RunRow, SpanRow, StatRow};
use kperf_trace::TraceReader;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// How much of a file is read at a time.
const BUFFER: usize = 1 << 20;

/// A trace that is to be added.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// Its name in messages.
    pub shown: &'a str,
    /// The run's name: the column `name`.
    pub name: &'a str,
    /// Its length in bytes, if that is known before it is read.
    pub length: Option<u64>,
}

/// Whether a run is new in the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is in the dataset now.
    New,
    /// It has grown since it was taken.
    Grown,
    /// It was in the dataset.
    Before,
}

/// The result of adding a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it is new.
    pub added: Added,
    /// Its id.
    pub run_id: i64,
    /// Reasons why its figures may be wrong. Each is a sentence without its full stop.
    pub warnings: Vec<String>,
}

/// Adds runs to a dataset, one after the other. Several may do so at once, in one process or in many: they wait for each other.
pub struct Adder<'a> {
    store: &'a Store,
    options: Options,
    known: KnownRuns<'a>,
}

impl<'a> Adder<'a> {
    /// Looks which runs there are, and clears up what a process that was killed has left.
    pub fn new(store: &'a Store, options: Options) -> Result<Adder<'a>> {
        {
            let _lock = store.lock()?;
            store.sweep()?;
        }
        Ok(Adder { store, options, known: KnownRuns::of(store)? })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.known.len()
    }

    /// Adds the run of a trace's file. Blocks until it is on the disk, so an executor's threads are not the place for it.
    ///
    /// # Errors
    ///
    /// If the file can't be read or is no trace, if its run is there with other bytes, or if the dataset can't be written. Then the
    /// dataset is as it was.
    pub fn add_file(&mut self, path: &Path) -> Result<Outcome> {
        let shown = path.display().to_string();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let length =
            path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        let failed = || format!("failed to read the trace `{shown}`");
        let open = || {
            let file = BufReader::with_capacity(BUFFER, File::open(path).context_with(failed)?);
            TraceReader::new(file).context_with(failed)
        };
        self.add(Trace { shown: &shown, name: &name, length }, open, |_| ())
    }

    /// Adds the run of a trace that `open` opens at its beginning, each time it is called. `progress` gets the number of
    /// bytes read.
    pub fn add<R: Read>(
        &mut self,
        trace: Trace<'_>,
        mut open: impl FnMut() -> Result<TraceReader<R>>,
        progress: impl FnMut(u64),
    ) -> Result<Outcome> {
        let reader = open()?;
        let run_id = self.options.run_id(reader.header());
        let earlier = self.known.get(run_id)?;
        // A trace with a given name may be another run of the same length.
        if let Some(earlier) = &earlier
            && self.options.run_name.is_none()
            && trace.length == Some(earlier.row.trace_bytes)
            && self.has_rows(earlier)
        {
            return self.keep(earlier, open);
        }
        let generation = earlier.as_ref().map_or(0, |earlier| generation_after(earlier.row.generation));
        let rows = self.options.rows(run_id, generation, trace.name);
        let mut collected = read(trace, reader, &rows, progress)?;
        if let Some(earlier) = &earlier {
            let row = &earlier.row;
            let (then, now) = (row.trace_bytes, collected.run.trace_bytes);
            let is_same = is_same(row, &collected.run);
            if is_same && self.has_rows(earlier) {
                return self.keep(earlier, open);
            }
            if now < then && !row.complete && self.has_rows(earlier) {
                return Ok(Outcome { added: Added::Before, run_id, warnings: Vec::new() });
            }
            if row.complete && !is_same {
                return Err(Error::new(format!(
                    "`{}` is of the same run as `{}`, which was taken ({then} bytes, not {now}); if it is another run, name it with \
                     --run-id",
                    trace.shown, row.name
                )));
            }
        }
        let partition = match &earlier {
            Some(earlier) => earlier.partition.clone(),
            None => partition(&self.options, &collected),
        };
        // Those of a part of the trace would be too few.
        let with_calls = self.options.calls || self.store.has::<CallRow>(&partition, &calls_name(run_id));
        let calls = with_calls.then_some(|| self.write_calls(run_id, &partition, open()?));
        let old = earlier.as_ref().map(|known| (known.partition.clone(), known.row.generation));
        place(self.store, &partition, &collected, calls, old.as_slice())?;
        self.known.insert(KnownRun { row: collected.run, partition });
        let added = if earlier.is_some() { Added::Grown } else { Added::New };
        Ok(Outcome { added, run_id, warnings: std::mem::take(&mut collected.warnings) })
    }

    /// Whether the files of a run's rows exist: a dataset may have been copied in part.
    fn has_rows(&self, known: &KnownRun) -> bool {
        let name = file_name(&known.row);
        let is_joined = !self.store.has::<RunRow>(&known.partition, &name);
        is_joined || self.store.has::<StatRow>(&known.partition, &name)
    }

    /// Leaves a run as it is, but for its calls, if they are wanted and aren't there.
    fn keep<R: Read>(
        &self,
        known: &KnownRun,
        mut open: impl FnMut() -> Result<TraceReader<R>>,
    ) -> Result<Outcome> {
        let run_id = known.row.run_id;
        let lacks_calls =
            self.options.calls && !self.store.has::<CallRow>(&known.partition, &calls_name(run_id));
        if lacks_calls {
            self.write_calls(run_id, &known.partition, open()?)?;
        }
        let added = if lacks_calls { Added::Grown } else { Added::Before };
        Ok(Outcome { added, run_id, warnings: Vec::new() })
    }

    fn write_calls<R: Read>(&self, run_id: i64, partition: &Partition, reader: TraceReader<R>) -> Result<()> {
        let rows = CallRows { run_id };
        self.store.write_with::<CallRow>(partition, &calls_name(run_id), |out| rows.write(reader, out))
    }
}

/// The generation of a run that is taken again. Taken runs have even ones, joined runs odd ones: so a run that one process
/// joins while another one takes it again isn't there twice with the same.
fn generation_after(generation: i32) -> i32 {
    (generation | 1).saturating_add(1)
}

/// The generation of a run that is joined with others, and was taken for this one.
pub fn joined_generation(generation: i32) -> i32 {
    generation.saturating_add(1) | 1
}

/// The name of the file with a run's calls.
pub(crate) fn calls_name(run_id: i64) -> String {
    format!("r-{run_id:016x}")
}

/// Whether two rows are of the same recording.
fn is_same(a: &RunRow, b: &RunRow) -> bool {
    let of = |run: &RunRow| (run.complete, run.start, run.duration_nanos, run.calls, run.self_nanos);
    of(a) == of(b) && a.module_sha256 == b.module_sha256
}

fn read<R: Read>(
    trace: Trace<'_>,
    reader: TraceReader<R>,
    rows: &RowOptions,
    progress: impl FnMut(u64),
) -> Result<Collected> {
    let collected = collect(reader, rows, progress);
    let mut collected = collected.context_with(|| format!("failed to read the trace `{}`", trace.shown))?;
    if let Some(length) = trace.length {
        // It may have grown while it was read.
        collected.run.trace_bytes = collected.run.trace_bytes.max(length);
    }
    Ok(collected)
}

/// The partition of a new run.
fn partition(options: &Options, collected: &Collected) -> Partition {
    let service = options.labels.service.as_deref().unwrap_or(&collected.module);
    Partition::new(service, collected.run.start)
}

/// Writes the rows of a run, its row in `runs` last, and deletes rows of earlier generations.
fn place(
    store: &Store,
    partition: &Partition,
    collected: &Collected,
    calls: Option<impl FnOnce() -> Result<()>>,
    old: &[(Partition, i32)],
) -> Result<()> {
    let RunRow { run_id, generation, .. } = collected.run;
    let name = name_of(run_id, generation);
    let _lock = store.lock()?;
    if store.has_in_any_service::<RunRow>(partition, &name)? {
        // Another process was faster.
        return Ok(());
    }
    store.write_common::<FunctionRow>(partition, &collected.functions)?;
    store.write_common::<PathRow>(partition, &collected.paths)?;
    store.write::<StatRow>(partition, &name, &collected.stats)?;
    if collected.spans.is_empty() {
        // Engines want a file in each table.
        store.write_common::<SpanRow>(partition, &[])?;
        // Of a process that was killed, with other limits.
        store.delete::<SpanRow>(partition, &name)?;
    } else {
        store.write::<SpanRow>(partition, &name, &collected.spans)?;
    }
    if let Some(calls) = calls {
        calls()?;
    }
    store.write::<RunRow>(partition, &name, std::slice::from_ref(&collected.run))?;
    for (partition, generation) in old {
        let name = name_of(run_id, *generation);
        store.delete::<RunRow>(partition, &name)?;
        store.delete::<StatRow>(partition, &name)?;
        store.delete::<SpanRow>(partition, &name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a run that one process joins while another takes it again would be there twice with the same generation.
    #[test]
    fn no_generation_is_both_of_a_taken_run_and_of_a_joined_one() {
        let mut taken = vec![0];
        for _ in 0..5 {
            let next: Vec<i32> = taken.iter().map(|generation| generation_after(*generation)).collect();
            taken.extend(next);
        }
        for generation in &taken {
            let joined = joined_generation(*generation);
            assert!(joined > *generation && generation_after(*generation) > joined);
            assert!(!taken.contains(&joined) && generation_after(joined) > joined);
        }
        assert_eq!(generation_after(i32::MAX), i32::MAX);
    }
}
