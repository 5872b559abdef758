//! `run --repeat`: runs a module several times, in turn without probes and with them.

use super::guest::Guest;
use super::invoke::Entry;
use super::module::{Host, run_inlined};
use super::program::Program;
use super::wasi::{Streams, WasiArgs};
use crate::shared::{output, traces};
use anyhow::{Context, bail};
use bytes::Bytes;
use kperf_abi::SymbolTable;
use kperf_profile::RunErrors;
use kperf_wasmtime::Recorder;
use std::io::{self, IsTerminal, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use wasmtime::{Engine, Module};
use wasmtime_wasi::I32Exit;

/// How often a program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// So often without probes, and as often with them.
    Times(NonZeroU32),
    /// Until no share is off by more than this.
    Until(f64),
}

/// The time between two samples after the first 100,000. A tenth of a profile's: the mean of several runs is for small changes. On a
/// virtual machine, where a sample takes some 27 us, a run takes a third longer.
pub const PERIOD: Duration = Duration::from_micros(100);
/// No run takes so long, so each has one window.
pub const WINDOW: Duration = Duration::from_secs(1 << 30);
/// How long stdin may go on before we say that we wait for its end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The least number of runs whose shares have an error.
const MIN_RUNS: u32 = 3;
/// The greatest number of runs for `until`.
const MAX_RUNS: u32 = 100;

impl FromStr for Repeat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Repeat, Self::Err> {
        let wrong =
            "give a number of runs, or `until:2%` for runs until no share is off by more than 2 points";
        match text.strip_prefix("until:") {
            None => text.parse().map(Repeat::Times).map_err(|_| wrong),
            Some(share) => match share.strip_suffix('%').unwrap_or("").trim_end().parse::<f64>() {
                Ok(points) if points > 0.0 && points.is_finite() => Ok(Repeat::Until(points / 100.0)),
                _ => Err(wrong),
            },
        }
    }
}

/// A module that is ready to run several times.
pub struct RepeatedProgram {
    engine: Engine,
    without_probes: Module,
    with_probes: Module,
    path: PathBuf,
    args: Vec<String>,
    wasi: WasiArgs,
    entry: Entry,
    silent: Entry,
    /// What each run reads from stdin; `None` if that is a terminal.
    input: Option<Bytes>,
    repeat: Repeat,
    trace: PathBuf,
    recorder: Option<Recorder>,
}

impl RepeatedProgram {
    /// Compiles both forms of a module, and reads stdin to its end.
    pub fn new(
        engine: Engine,
        (sampled, counted): (&Guest, &Guest),
        wasi: &WasiArgs,
        args: &[String],
        invoke: Option<&str>,
        repeat: Repeat,
        trace: &Path,
    ) -> anyhow::Result<RepeatedProgram> {
        let compile = |guest: &Guest| {
            Module::new(&engine, &guest.wasm)
                .map_err(anyhow::Error::from)
                .with_context(|| format!("failed to compile `{}`", guest.path.display()))
        };
        let (without_probes, with_probes) = (compile(sampled)?, compile(counted)?);
        let entry = || Entry::find(sampled, &without_probes, invoke, args);
        let (entry, silent) = (entry()?, entry()?.silent());
        if matches!(repeat, Repeat::Until(_)) && !trace.metadata().is_ok_and(|trace| trace.is_file()) {
            // The trace doesn't exist yet, or is a pipe.
            if trace.exists() {
                bail!("--repeat until reads the trace while it grows, and `{}` is no file", trace.display());
            }
        }
        let input = read_stdin()?;
        Ok(RepeatedProgram {
            engine,
            without_probes,
            with_probes,
            path: sampled.path.clone(),
            args: args.to_vec(),
            wasi: wasi.clone(),
            entry,
            silent,
            input,
            repeat,
            trace: trace.to_owned(),
            recorder: None,
        })
    }

    /// Runs the module once.
    fn run_once(
        &self,
        recorder: &Recorder,
        module: &Module,
        is_first: bool,
    ) -> anyhow::Result<wasmtime::Result<()>> {
        let entry = if is_first { &self.entry } else { &self.silent };
        let streams = Streams { input: self.input.clone(), is_silent: !is_first };
        let host = Host::new(&self.engine, &self.wasi, &self.path, &self.args, &streams)?;
        Ok(match run_inlined(host, module, entry, recorder)? {
            Err(error) if error.downcast_ref::<I32Exit>().is_some_and(|exit| exit.0 == 0) => Ok(()),
            result => result,
        })
    }

    fn is_done(&self, runs: u32) -> bool {
        match self.repeat {
            Repeat::Times(times) => runs >= times.get(),
            Repeat::Until(_) if runs < MIN_RUNS => false,
            Repeat::Until(_) if runs >= MAX_RUNS => true,
            // The last window may not be written yet: then it is not counted.
            Repeat::Until(error) => {
                let profile = traces::source(&self.trace).quiet(true).profile();
                profile
                    .ok()
                    .and_then(|profile| RunErrors::of(&profile))
                    .is_some_and(|errors| errors.max() <= error)
            }
        }
    }
}

impl Program for RepeatedProgram {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Only the code without probes is sampled: what is added last.
    fn link(&mut self, recorder: &Recorder, guest: &Guest) -> anyhow::Result<()> {
        for table in &guest.symbols {
            for module in [&self.with_probes, &self.without_probes] {
                recorder.native_code(module, &table.to_bytes())?;
            }
        }
        self.recorder = Some(recorder.clone());
        Ok(())
    }

    fn perf_map(&self, tables: &[SymbolTable]) -> kperf_wasmtime::Result<()> {
        let table = tables.first().map(SymbolTable::to_bytes);
        let modules = [&self.with_probes, &self.without_probes];
        modules.into_iter().try_for_each(|module| Recorder::perf_map(module, table.as_deref()))
    }

    /// Stops at the first run that fails.
    fn run(&mut self) -> wasmtime::Result<()> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        for number in 1.. {
            for (which, module) in [("without", &self.without_probes), ("with", &self.with_probes)] {
                let is_first = number == 1 && which == "without";
                let result =
                    self.run_once(recorder, module, is_first).map_err(wasmtime::Error::from_anyhow)?;
                if result.is_err() {
                    output::status(format_args!(
                        "run {number} {which} probes failed; there are no more runs"
                    ));
                    return result;
                }
            }
            if self.is_done(number) {
                break;
            }
        }
        Ok(())
    }
}

/// All that stdin has. `None` for a terminal: each run reads it itself.
fn read_stdin() -> anyhow::Result<Option<Bytes>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let (done, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = done.send(stdin.lock().read_to_end(&mut bytes).map(|_| bytes));
    });
    let bytes = match read.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => {
            output::status(
                "--repeat waits for the end of stdin, which each run is to read (`< /dev/null`: nothing)",
            );
            read.recv().ok()
        }
        other => other.ok(),
    };
    let bytes = bytes.context("the thread that reads stdin has ended")?;
    Ok(Some(bytes.context("failed to read stdin, which each run is to read")?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_errors_are_read() {
        let times = |n| Ok(Repeat::Times(NonZeroU32::new(n).unwrap()));
        assert_eq!(["1", "10"].map(str::parse), [times(1), times(10)]);
        assert_eq!(
            ["until:2%", "until:0.5 %"].map(str::parse),
            [Ok(Repeat::Until(0.02)), Ok(Repeat::Until(0.005))]
        );
        for wrong in ["", "0", "-1", "until", "until:", "until:2", "until:0%", "until:x%", "2%"] {
            assert!(wrong.parse::<Repeat>().is_err(), "{wrong}");
        }
    }
}
