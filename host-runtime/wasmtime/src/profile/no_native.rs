//! Replaces `native` where threads' stacks can't be walked.

use super::counts::Counts;
use super::spent::Spent;
use super::tree::NativePlace;
use crate::clock::cell::TickerCell;
use crate::clock::source::Clock;
use kperf_abi::SymbolTable;
use kperf_abi::shadow::Slot;
use kperf_trace::{WindowNode, WindowPlace};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use wasmtime::Module;

/// There is none.
pub(crate) enum Native {}

/// There is none.
pub(crate) struct Sample {
    pub(crate) time: u64,
    pub(crate) whole: bool,
    pub(crate) address: usize,
    pub(crate) spent: Option<Spent>,
}

/// There is none.
#[derive(Debug, Default)]
pub(crate) struct Pace;

impl Pace {
    pub(crate) fn new(_is_repeated: bool) -> Pace {
        Pace
    }
}

/// There is none.
pub(crate) enum Target {}

/// There is none.
pub(crate) enum Code {}

/// There is none.
pub(crate) enum FunctionAt {}

/// There is none.
pub(crate) enum Thread {}

impl Thread {
    pub(crate) fn here() -> Option<Thread> {
        None
    }

    pub(crate) fn ran(&self) -> Option<Spent> {
        match *self {}
    }
}

/// There is none.
pub(crate) enum Beat {}

/// Stays zero.
#[derive(Debug, Default)]
pub(crate) struct BeatTotal {
    pub(crate) count: AtomicU64,
    pub(crate) nanos: AtomicU64,
    pub(crate) squares: AtomicU64,
}

impl Beat {
    pub(crate) fn start(
        _thread: i32,
        _cells: Vec<Arc<TickerCell>>,
        _clock: &Clock,
        _total: &Arc<BeatTotal>,
    ) -> io::Result<Beat> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn thread(&self) -> i32 {
        match *self {}
    }
}

pub(crate) fn this_thread() -> i32 {
    0
}

impl Target {
    pub(crate) fn of_this_thread(code: Arc<Code>, _counts: Counts) -> Result<Target, &'static str> {
        match *code {}
    }
}

impl Native {
    pub(crate) const IS_THERE: bool = false;

    pub(crate) fn new(
        target: Target,
        _clock: Clock,
        _pace: Arc<Pace>,
        _period: Duration,
    ) -> Result<Native, &'static str> {
        match target {}
    }

    pub(crate) fn is_same(&self, _other: &Target) -> bool {
        match *self {}
    }

    pub(crate) fn start(&self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn spent(&self) -> Option<Spent> {
        match *self {}
    }

    pub(crate) fn stop(&self) {
        match *self {}
    }

    pub(crate) fn next(&self, _path: &mut Vec<Slot>) -> Option<Sample> {
        match *self {}
    }

    pub(crate) fn places(&self, _nodes: &mut [WindowNode], _places: Vec<NativePlace>) -> Vec<WindowPlace> {
        match *self {}
    }

    pub(crate) fn lost(&self) -> u64 {
        match *self {}
    }
}

impl Code {
    pub(crate) fn new(_module: &Module, _symbols: &SymbolTable) -> Option<Code> {
        None
    }

    pub(crate) fn is(&self, _other: &Code) -> bool {
        match *self {}
    }

    pub(crate) fn id_base(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn at(&self, _address: usize) -> Option<FunctionAt> {
        match *self {}
    }

    pub(crate) fn has_functions_at(&self, _distance: usize) -> bool {
        match *self {}
    }
}

pub(crate) fn is_ours() -> bool {
    true
}

pub(crate) fn prepare(_clock: &Clock) -> Result<(), io::Error> {
    Err(io::ErrorKind::Unsupported.into())
}
