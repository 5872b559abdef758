//! The programs that are measured.

use crate::real::{self, Program};
use crate::way::Host;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// A program, and what it does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Workload {
    /// MooBench's recursion, to a depth.
    Recursion(Language, u32),
    /// `fib(20)`.
    Fib(Language),
    /// The Game of Life of `examples/game-of-life`, by its folder.
    Life(String),
    /// A published program.
    Real(Program),
}

/// What `benches/moobench` has a module in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Language {
    Rust,
    Kotlin,
}

/// One run of a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The repository.
    pub(crate) root: PathBuf,
    pub(crate) workload: Workload,
    /// How often it is called: the recursion from its top, `fib` from 20. The Game of Life runs once.
    pub(crate) calls: u32,
    /// Where a Collector is.
    pub(crate) endpoint: Option<String>,
}

/// Recursions between two readings of the clock.
pub(crate) const BATCH: u32 = 1_000;
/// The argument of `fib`, and how many calls that is.
pub(crate) const FIB: u32 = 20;
const FIB_CALLS: u64 = 21_891;
/// Calls of the Game of Life's five functions in 500 steps. The programs have some more.
const LIFE_CALLS: u64 = 2_000_500;

impl Language {
    pub(crate) const ALL: [Language; 2] = [Language::Rust, Language::Kotlin];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Language::Rust => "Rust",
            Language::Kotlin => "Kotlin",
        }
    }
}

impl Workload {
    pub(crate) fn module(&self, root: &Path) -> PathBuf {
        match self {
            Workload::Recursion(language, _) | Workload::Fib(language) => {
                root.join("benches/moobench").join(language.name().to_lowercase()).join("moobench.wasm")
            }
            Workload::Life(folder) => root.join("examples/game-of-life").join(folder).join("life.wasm"),
            Workload::Real(program) => real::folder(root).join(program.file()),
        }
    }

    /// The export that is called, and its second argument; a command has none.
    pub(crate) fn export(&self) -> Option<(&'static str, u32)> {
        match self {
            Workload::Recursion(_, depth) => Some(("run", *depth)),
            Workload::Fib(_) => Some(("run_fib", FIB)),
            Workload::Life(_) | Workload::Real(_) => None,
        }
    }

    /// The function that has probes; all have in a command.
    pub(crate) fn probed(&self) -> Option<&'static str> {
        match self {
            Workload::Recursion(..) => Some("monitored"),
            Workload::Fib(_) => Some("fib"),
            Workload::Life(_) | Workload::Real(_) => None,
        }
    }

    /// The published program that it is.
    pub(crate) fn program(&self) -> Option<Program> {
        match *self {
            Workload::Real(program) => Some(program),
            _ => None,
        }
    }

    /// Whether there is a program for the host.
    pub(crate) fn runs_on(&self, host: Host) -> bool {
        match self {
            Workload::Recursion(Language::Kotlin, _) => true,
            _ => host != Host::Jvm,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Recursion(language, depth) => {
                write!(f, "recursion of depth {depth}, {}", language.name())
            }
            Workload::Fib(language) => write!(f, "fib({FIB}), {}", language.name()),
            Workload::Life(folder) => write!(f, "Game of Life, {folder}"),
            Workload::Real(program) => f.write_str(program.name()),
        }
    }
}

impl Job {
    /// How many calls are made between two readings of the clock, and how often.
    pub(crate) fn batches(&self) -> (u32, u32) {
        match self.workload {
            Workload::Recursion(..) => (BATCH, (self.calls / BATCH).max(2)),
            Workload::Fib(_) => (1, self.calls.max(2)),
            Workload::Life(_) | Workload::Real(_) => (1, 1),
        }
    }

    /// How many calls of the probed function a batch has.
    pub(crate) fn calls_a_batch(&self) -> u64 {
        let (size, _) = self.batches();
        u64::from(size)
            * match self.workload {
                Workload::Recursion(_, depth) => depth.into(),
                Workload::Fib(_) => FIB_CALLS,
                Workload::Life(_) => LIFE_CALLS,
                Workload::Real(_) => real::CALLS,
            }
    }

    /// How many calls of the probed function a run has; of a command at least.
    pub(crate) fn calls_of_monitored(&self) -> u64 {
        self.calls_a_batch() * u64::from(self.batches().1)
    }

    /// What a batch must answer.
    pub(crate) fn answer(&self) -> u32 {
        let one = match self.workload {
            Workload::Recursion(_, depth) => (1..=depth).fold(0u32, |inner, depth| match depth {
                1 => 1,
                depth => inner.rotate_left(1) ^ depth,
            }),
            Workload::Fib(_) => 6_765,
            Workload::Life(_) | Workload::Real(_) => 0,
        };
        one.wrapping_mul(self.batches().0)
    }
}
