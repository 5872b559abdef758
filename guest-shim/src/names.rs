//! The names that a probed module imports and carries. They are reserved: a module that has them already is refused.

/// Import module of the probes.
pub const MODULE: &str = "kperf";
/// `enter(func_id: i32) -> token: i32`, the first thing a probed function does.
pub const ENTER: &str = "enter";
/// `leave(token: i32)`, the last thing it does.
pub const LEAVE: &str = "leave";
/// `unwind(token: i32)`: what is still open above the frame with this token was unwound. Only in modules that need it.
pub const UNWIND: &str = "unwind";

/// Recorder export `leaf(func_id: i32)`: the function was called, and what it does is not timed. Only of a recorder that is a
/// part of its module.
pub const LEAF: &str = "leaf";

/// Custom section with the [`SymbolTable`](crate::SymbolTable) of a probed module.
pub const SYMBOLS_SECTION: &str = "kperf.symbols";

/// Import module of what a recorder wants from its host.
pub const HOST_MODULE: &str = "kperf:host";
/// The shared memory of a lane, where the recorder keeps its block (see [`crate::block`]).
pub const HOST_MEMORY: &str = "memory";
/// The shared memory whose first eight bytes a ticker writes. Only the ticker's form imports it.
pub const HOST_CLOCK: &str = "clock";
/// `now() -> ticks: i64`. Only the precise form imports it.
pub const HOST_NOW: &str = "now";
/// `flush(address: i32, length: i32)`: the block at `address` is full and may be reused when this returns.
pub const HOST_FLUSH: &str = "flush";

/// Recorder export `close(reason: i32, depth: i32)`: frames deeper than `depth` are closed for a reason of the host's.
pub const CLOSE: &str = "close";
/// Recorder export `switch(stack: i32)`: from here on the events belong to another of this lane's stacks.
pub const SWITCH: &str = "switch";
/// Recorder export `mark(value: i32)`: a point in time that the host wants to see in the trace.
pub const MARK: &str = "mark";
/// Recorder export `flush()`: hand what is in the block to the host now.
pub const FLUSH: &str = "flush";
/// Recorder export `depth() -> i32`: how many frames of the running stack are open.
pub const DEPTH: &str = "depth";

/// Recorder export, a mutable i32: how many frames of the running stack are open. With the other two globals, a host can do
/// what `close`, `switch` and `mark` do without running guest code: where fuel is spent, an epoch has ended, or a call
/// would have to be asynchronous.
pub const STATE_DEPTH: &str = "state.depth";
/// Recorder export, a mutable i32: the stack that runs.
pub const STATE_STACK: &str = "state.stack";
/// Recorder export, a mutable i64: the time of the last word, in ticks.
pub const STATE_LAST: &str = "state.last";
/// Export of a recorder inside a module, a mutable i32: where the next word goes; 0 before the first event.
pub const STATE_POSITION: &str = "state.position";

/// Export of a recorder of profiles that keeps a stack, a mutable i32: address of the slot that the next call takes (see
/// [`crate::shadow`]).
pub const STATE_TOP: &str = "state.top";
/// Export of a recorder of profiles, an i32: the FuncId whose count is the first.
pub const STATE_ID_BASE: &str = "state.id_base";
/// Export of a recorder of profiles, an i32: how many functions have a count.
pub const STATE_FUNCTIONS: &str = "state.functions";
/// Export of a recorder of profiles: what the module's start function calls before anything else. It calls [`HOST_FLUSH`].
pub const START: &str = "start";

/// Export of a module whose recorder is its own, the memory of its lane.
pub const MEMORY: &str = "memory";
/// What stands before the names of the recorder's exports where it is a part of the module: `kperf.memory`. A module that
/// exports such a name already is refused.
pub const EXPORT_PREFIX: &str = "kperf.";

/// Body of a recorder that becomes a part of its module: what an `enter` is inside a function. The first parameter stands for
/// the id (of a recorder of profiles, the second for the address of the count), the others for locals.
pub const INLINE_ENTER: &str = "inline.enter";
/// What an `enter` is in a function that calls nothing, where that differs.
pub const INLINE_ENTER_LEAF: &str = "inline.enter.leaf";
/// What a `leave` is.
pub const INLINE_LEAVE: &str = "inline.leave";
/// What a `leave` is in a function that calls nothing.
pub const INLINE_LEAVE_LEAF: &str = "inline.leave.leaf";
/// What an `enter` is in a function in which nothing can happen, not even a trap, where that differs.
pub const INLINE_ENTER_TRAPLESS: &str = "inline.enter.trapless";
/// What a `leave` is in such a function.
pub const INLINE_LEAVE_TRAPLESS: &str = "inline.leave.trapless";
/// What a `leaf` is: all that stands in a function that is counted only. Of a recorder of traces its second parameter is the
/// one local that it needs.
pub const INLINE_LEAF: &str = "inline.leaf";
/// What an `unwind` is.
pub const INLINE_UNWIND: &str = "inline.unwind";

/// The name under which a module exports what its own recorder exports as `name`.
pub fn exported(name: &str) -> String {
    format!("{EXPORT_PREFIX}{name}")
}
