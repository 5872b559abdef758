//! What probes record, and where the recorder is.

use std::num::NonZeroU64;

/// What probes record, and where the recorder is. Each recording has the options that go with it, and no others.
///
/// ```wat
/// (func $f  nop)          ;; before
///
/// (func $f (local $t i32) ;; after, with imported probes
///   (local.set $t (call $kperf.enter (i32.const 0)))
///   (block $body  nop)
///   (call $kperf.leave (local.get $t)))
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recording {
    /// All calls, by a recorder beside the module: it imports `kperf.enter` and `kperf.leave`, and calls them. Any engine and any
    /// host can do with that.
    Imported(Imported),
    /// All calls, by a recorder that is a part of the module: each function contains the code for the usual case of an event. This is
    /// the fastest way. The engine must support shared memories, and several memories if the module has its own. The host supplies
    /// `kperf:host.now` and `flush`.
    Inline(Inline),
    /// A profile, by a recorder that is a part of the module: it counts the calls of each function and keeps a stack of the open ones,
    /// which the host samples. The engine must support shared memories, and several memories if the module has its own. The host
    /// supplies `kperf:host.flush`.
    Profile {
        /// Whether that stack distinguishes one call of a function from the next, so that slow calls can be listed one by one.
        spans: bool,
    },
    /// The same with spans and a memory that isn't shared. Only a host that finds that memory can read it while the guest runs
    /// (`RecordedStore` of kperf-wasmtime), and it is there for pooled and pre-instantiated modules. The engine needs nothing special,
    /// except several memories if the module has its own.
    ///
    /// ```wat
    /// (memory 17 17 shared)  ;; what `Profile` adds
    /// (memory 17 17)         ;; what this adds
    /// ```
    OwnProfile,
    /// A profile, by a recorder that is a part of the module and only counts the calls of each function. The host samples the open
    /// calls on the stack of the guest's thread, if it can. The engine must support shared memories, and several memories if the
    /// module has its own. The host supplies `kperf:host.flush`.
    Count,
    /// The same with a global for each count, which costs a call a quarter of it. Only a host that finds globals in memory can read
    /// them while the guest runs (`RecordedStore` of kperf-wasmtime). The engine needs nothing special.
    OwnCount,
    /// The samples of [`Recording::Count`] without its counts: functions stay as they are. The recorder in the module only announces
    /// its instances, so that the host samples a program without probes.
    ///
    /// ```wat
    /// (func $f  nop)          ;; before and after
    /// ```
    Sample,
    /// A call tree with exact counts for each path, by a recorder that is a part of the module, in the module's own memory. The module
    /// records itself in any host: it needs no other functions, memories or threads. If it imports WASI, it reads the clock there and
    /// writes a trace; otherwise instructions are its clock, and the host fetches the trace by `kperf.take`. The module must have no
    /// memory, or one that is its own.
    ///
    /// ```wat
    /// (memory 2 20)                       (memory 20 38)
    /// (memory.size)                       (i32.sub (memory.size) (i32.const 18))
    /// (memory.grow (i32.const 1))         (call $kperf.inside.grow (i32.const 1))
    /// ```
    CallTree,
}

/// Options of [`Recording::Imported`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Imported {
    /// The times of events.
    pub clock: Clock,
    /// Whether allocations are recorded too.
    pub allocations: bool,
}

/// Options of [`Recording::Inline`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inline {
    /// The times of events.
    pub clock: Clock,
    /// Whether small functions that call nothing and can't trap are timed.
    pub leaf: Leaf,
    /// Which allocations are recorded too.
    pub allocations: Allocations,
}

/// The times of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The host supplies them.
    #[default]
    Host,
    /// How many instructions the instance has executed: the same on every host, machine and run. The module counts them itself, in a
    /// global that every run of straight-line code increases: its own with [`Recording::Inline`], the recorder's with
    /// [`Recording::Imported`], which only hosts in JavaScript have.
    ///
    /// Each operator counts 1. Structure counts nothing, because optimizers add and remove it: `block`, `loop`, `try_table`, `try`,
    /// `unreachable`, `return`, `nop`, `drop`. An operator that copies or fills `n` bytes or elements counts `n / 8` more.
    Instructions,
}

/// Whether calls of a function that calls nothing, doesn't loop and can't trap are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// They are, as all others: an enter and a leave.
    #[default]
    Time,
    /// They are one event, if the function is cheaper than its probe: counts are exact, and its time is part of its caller's.
    Count,
}

/// Which allocations are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Allocations {
    /// None.
    #[default]
    Off,
    /// All.
    All,
    /// Samples: one in this many bytes on average.
    Sampled(NonZeroU64),
}

impl Allocations {
    /// One sample in `bytes` bytes on average; 0: all allocations.
    pub fn every(bytes: u64) -> Allocations {
        NonZeroU64::new(bytes).map_or(Allocations::All, Allocations::Sampled)
    }
}

impl Default for Recording {
    fn default() -> Recording {
        Recording::imported()
    }
}

impl Recording {
    /// All calls with the host's times, by imported functions.
    pub const fn imported() -> Recording {
        Recording::Imported(Imported { clock: Clock::Host, allocations: false })
    }

    /// All calls with the host's times, by a recorder that is a part of the module.
    pub const fn inline() -> Recording {
        Recording::inline_with(Leaf::Time)
    }

    /// The same with small functions timed or counted.
    pub const fn inline_with(leaf: Leaf) -> Recording {
        Recording::Inline(Inline { clock: Clock::Host, leaf, allocations: Allocations::Off })
    }

    /// Whether the module imports the recorder's functions.
    pub fn is_imported(&self) -> bool {
        matches!(self, Recording::Imported(_))
    }

    /// Whether it is a trace with the recorder inside the module.
    pub fn is_inline(&self) -> bool {
        matches!(self, Recording::Inline(_))
    }

    /// Whether it is a profile with a stack of its own.
    pub fn is_shadow_profile(&self) -> bool {
        matches!(self, Recording::Profile { .. } | Recording::OwnProfile)
    }

    /// The times of events. A profile's are the host's.
    pub fn clock(&self) -> Clock {
        match self {
            Recording::Imported(Imported { clock, .. }) | Recording::Inline(Inline { clock, .. }) => *clock,
            Recording::Profile { .. }
            | Recording::OwnProfile
            | Recording::Count
            | Recording::OwnCount
            | Recording::Sample => Clock::Host,
            Recording::CallTree => Clock::Instructions,
        }
    }

    /// Whether small functions are counted rather than timed.
    pub fn counts_leaves(&self) -> bool {
        matches!(self, Recording::Inline(Inline { leaf: Leaf::Count, .. }))
    }

    /// Whether the instructions with which a thread waits get probes. Other recordings don't need them: a thread's own samples are
    /// of its processor time, and waiting executes no instructions.
    pub(crate) fn times_waits(&self) -> bool {
        self.clock() == Clock::Host && (self.is_imported() || self.is_inline() || self.is_shadow_profile())
    }

    /// Which allocations are recorded.
    pub fn allocations(&self) -> Allocations {
        match *self {
            Recording::Imported(Imported { allocations: true, .. }) => Allocations::All,
            Recording::Inline(Inline { allocations, .. }) => allocations,
            Recording::Imported(_)
            | Recording::Profile { .. }
            | Recording::OwnProfile
            | Recording::Count
            | Recording::OwnCount
            | Recording::Sample
            | Recording::CallTree => Allocations::Off,
        }
    }

    /// Whether allocations are recorded.
    pub fn has_allocations(&self) -> bool {
        self.allocations() != Allocations::Off
    }
}
