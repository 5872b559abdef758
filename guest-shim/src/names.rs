//! The reserved names of a probed module's imports, exports and sections.
//!
//! - The rewriter refuses a module that already has one of them.

/// Import module of the probes.
pub const MODULE: &str = "kperf";
/// `enter(func_id: i32) -> token: i32`: a probed function calls it first.
pub const ENTER: &str = "enter";
/// `leave(token: i32)`: a probed function calls it last.
pub const LEAVE: &str = "leave";
/// `unwind(token: i32)`: the frames above the one with this token were unwound. Only modules that need it import it.
pub const UNWIND: &str = "unwind";

/// Recorder export `leaf(func_id: i32)`: the function was called, and its time is not measured. Only a
/// recorder inside a module has it.
pub const LEAF: &str = "leaf";

/// `allocating(token: i32)`: an allocator's function calls it after its enter. Only modules with recorded
/// allocations import this and the next three.
pub const ALLOCATING: &str = "allocating";
/// `allocated(token: i32, old: i64, size: i64, new: i64)`: an allocator's function calls it after its leave.
/// `old` is the block in its arguments, `size` the requested bytes, `new` the block in its result; each is 0
/// if there is none. `old` is -1 if `new` is garbage-collected. A block that a collector frees while an
/// allocator runs has the token -1, without `allocating`.
pub const ALLOCATED: &str = "allocated";
/// `grew(memory: i32, pages: i64, before: i64)`: a `memory.grow` was executed. `before` is its result.
pub const GREW: &str = "grew";
/// `created(size: i64)`: a garbage-collected object of `size` bytes was created.
pub const CREATED: &str = "created";

/// A mutable i64 global. A module with imported probes and the clock `instructions` adds the number of its
/// executed instructions to it. The recorder has the global, so all modules of a lane share it, and the host
/// can always read it.
pub const INSTRUCTIONS: &str = "instructions";
/// Custom section with the [`SymbolTable`](crate::SymbolTable) of a probed module.
pub const SYMBOLS_SECTION: &str = "kperf.symbols";

/// Import module of a recorder's imports from its host.
pub const HOST_MODULE: &str = "kperf:host";
/// The shared memory of a lane, where the recorder keeps its block (see [`crate::block`]).
pub const HOST_MEMORY: &str = "memory";
/// The shared memory into which a ticker writes the time, at its first eight bytes. Only the ticker's form
/// imports it.
pub const HOST_CLOCK: &str = "clock";
/// `now() -> ticks: i64`. Only the precise form imports it.
pub const HOST_NOW: &str = "now";
/// `flush(address: i32, length: i32)`: the block at `address` is full and may be reused when this returns.
pub const HOST_FLUSH: &str = "flush";

/// Name of the instance that a component with probes imports for its recorders. Its functions are, for
///
/// - a trace: `now: func() -> u64`, `attach: func(memory: list<u8>) -> u32`, and
///   `flush: func(lane: u32, depth: u32, last: u64, lost: u64, block: list<u8>)`;
/// - a trace with the clock `instructions`: [`HOST_ATTACH_COUNTING`] and `flush`;
/// - a profile: [`HOST_ATTACH_PROFILE`].
pub const COMPONENT_HOST: &str = "kperf:host/recorder";
/// `attach(memory) -> lane`: a recorder begins. `memory` is its whole memory, which doesn't move until the
/// store is dropped.
pub const HOST_ATTACH: &str = "attach";
/// `attach-counting(memory) -> lane`: the same for a recorder with executed instructions as its clock.
pub const HOST_ATTACH_COUNTING: &str = "attach-counting";
/// `attach-profile(memory: list<u8>, first: u32, functions: u32)`: the same for a profile (see
/// [`crate::shadow`]). It has `functions` counts; the first one belongs to the function with the id `first`.
pub const HOST_ATTACH_PROFILE: &str = "attach-profile";
/// Export of the recorder of a component, a mutable i32: not 0 during `realloc` and `post-return`, when the
/// component may not call the host.
pub const HOLD: &str = "hold";
/// Export of the recorder of a component, a mutable i32: the token of a call that has returned but not ended.
/// The host lifts its result, and `post-return` ends it. 0 if there is none.
pub const RETURNED: &str = "returned";
/// Export of the recorder of a component, `look()`: it asks the host for the time. Events while the component
/// may not call the host get the time of the last `look()`.
pub const LOOK: &str = "look";

/// Recorder export `close(reason: i32, depth: i32)`: closes the frames deeper than `depth`, for a reason. Hosts call it, and
/// so do modules that import [`DEPTH`].
pub const CLOSE: &str = "close";
/// Recorder export `switch(stack: i32)`: from here on the events belong to another of this lane's stacks.
pub const SWITCH: &str = "switch";
/// Recorder export `mark(value: i32)`: the host marks this moment in the trace.
pub const MARK: &str = "mark";
/// Recorder export `flush()`: hands over the block now, though it is not full.
pub const FLUSH: &str = "flush";
/// Recorder export `depth() -> i32`: how many frames of the running stack are open. A module imports it, with [`CLOSE`], if
/// functions without a probe may catch exceptions. Such a function notes the depth when it begins. When it catches, it
/// closes the frames that are deeper.
pub const DEPTH: &str = "depth";

/// Recorder export, a mutable i32: how many frames of the running stack are open. With this global and the
/// next two a host can `close`, `switch` and `mark` without running guest code. It needs that when fuel is
/// spent, when an epoch has ended, or when a call would have to be asynchronous.
pub const STATE_DEPTH: &str = "state.depth";
/// Recorder export, a mutable i32: the number of the stack that runs.
pub const STATE_STACK: &str = "state.stack";
/// Recorder export, a mutable i64: the time of the last word, in ticks.
pub const STATE_LAST: &str = "state.last";
/// Export of a recorder inside a module, a mutable i64. The lower half is the address of the next word, 0
/// before the first event. The upper half is the number of open frames, which other recorders have in
/// [`STATE_DEPTH`].
pub const STATE_HEAD: &str = "state.head";
/// Export of a recorder with executed instructions as its clock, a mutable i64: their number. The rewritten
/// module increases it.
pub const STATE_INSTRUCTIONS: &str = "state.instructions";

/// Recorder export, a mutable i32: the token of the outermost open call of an allocator's function, 0 if none is open. A host
/// that lowers [`STATE_DEPTH`] sets it to 0.
pub const STATE_ALLOCATOR: &str = "state.allocator";

/// Export of a recorder inside a module, an i64: the mean number of allocated bytes per sample; 0 records all
/// allocations.
pub const STATE_SAMPLE: &str = "state.sample";

/// Export of a recorder that makes profiles and keeps a stack, a mutable i32: address of the slot that the next call takes
/// (see [`crate::shadow`]).
pub const STATE_TOP: &str = "state.top";
/// Export of a recorder that makes profiles, an i32: the FuncId that the first count belongs to.
pub const STATE_ID_BASE: &str = "state.id_base";
/// Export of a recorder that makes profiles, an i32: how many functions have a count.
pub const STATE_FUNCTIONS: &str = "state.functions";
/// Export of a recorder that makes profiles: the module's start function calls it before anything else, and it calls
/// [`HOST_FLUSH`].
pub const START: &str = "start";

/// Export of a recorder that is a part of its module: the memory of its lane.
pub const MEMORY: &str = "memory";
/// Prefix of the recorder's export names when it is a part of its module: `kperf.memory`.
pub const EXPORT_PREFIX: &str = "kperf.";

/// Template of an `enter`: the rewriter copies its body into each probed function. Only a recorder inside a
/// module has templates. It replaces the first parameter by the id (and the second by the address of the
/// count, if the recorder makes profiles), and the others by locals.
pub const INLINE_ENTER: &str = "inline.enter";
/// Template of an `enter` in a function that calls nothing, if that differs from [`INLINE_ENTER`].
pub const INLINE_ENTER_LEAF: &str = "inline.enter.leaf";
/// Template of a `leave`.
pub const INLINE_LEAVE: &str = "inline.leave";
/// Template of a `leave` in a function that calls nothing.
pub const INLINE_LEAVE_LEAF: &str = "inline.leave.leaf";
/// Template of an `enter` in a function that calls nothing and can't trap, if that differs from [`INLINE_ENTER_LEAF`].
pub const INLINE_ENTER_TRAPLESS: &str = "inline.enter.trapless";
/// Template of a `leave` in a function that calls nothing and can't trap.
pub const INLINE_LEAVE_TRAPLESS: &str = "inline.leave.trapless";
/// Template of a `leaf`: the only probe in a function with calls that are only counted. If the recorder makes
/// traces, the second parameter becomes a local.
pub const INLINE_LEAF: &str = "inline.leaf";
/// Template of an `unwind`.
pub const INLINE_UNWIND: &str = "inline.unwind";
/// Template for the beginning of a function that has no probe and may catch: it keeps the depth in a local,
/// the first one that an `enter` uses.
pub const INLINE_HERE: &str = "inline.here";
/// Template for each catch in a function without a probe: it closes the frames deeper than the kept depth.
pub const INLINE_BACK: &str = "inline.back";

/// Export of a module that records itself, `kperf.take() -> i64`: a trace file of what was recorded and not yet written. The lower half is
/// its address in [`MEMORY`], the upper half its length. The next event may overwrite it.
pub const TAKE: &str = "take";
/// Prefix of those functions and globals of a recorder in the program's memory that only the rewriter uses.
pub const INSIDE: &str = "inside.";
/// A mutable i32: the address where the recorder's pages begin.
pub const INSIDE_BASE: &str = "inside.base";
/// An i32: how many pages these are.
pub const INSIDE_PAGES: &str = "inside.pages";
/// `grow(pages: i32) -> i32`, in the place of `memory.grow`.
pub const INSIDE_GROW: &str = "inside.grow";
/// `before()` and `after()`: around calls of host functions.
pub const INSIDE_BEFORE: &str = "inside.before";
/// See [`INSIDE_BEFORE`].
pub const INSIDE_AFTER: &str = "inside.after";
/// `abort()`: before an `unreachable`.
pub const INSIDE_ABORT: &str = "inside.abort";
/// `exit(code: i32)`, in the place of WASI's `proc_exit`.
pub const INSIDE_EXIT: &str = "inside.exit";
/// In the place of the export `_start`, which the rewriter makes it call, and [`INSIDE_COMPLETED`] after it.
pub const INSIDE_COMMAND: &str = "inside.command";
/// See [`INSIDE_COMMAND`].
pub const INSIDE_COMPLETED: &str = "inside.completed";
/// In the place of the module's start function, which the rewriter makes it call, and [`INSIDE_STARTED`] after it.
pub const INSIDE_START: &str = "inside.start";
/// See [`INSIDE_START`].
pub const INSIDE_STARTED: &str = "inside.started";
/// Import module of WASI preview 1.
pub const WASI: &str = "wasi_snapshot_preview1";

/// Whether any form of probes needs this import. Other names of these import modules are not reserved.
pub fn is_of_probes(module: &str, name: &str) -> bool {
    match module {
        MODULE => {
            let functions = [ENTER, LEAVE, UNWIND, DEPTH, CLOSE, ALLOCATING, ALLOCATED, GREW, CREATED];
            functions.contains(&name) || name == INSTRUCTIONS
        }
        HOST_MODULE => [HOST_NOW, HOST_FLUSH].contains(&name),
        _ => false,
    }
}

/// The module's export name for the export `name` of the recorder inside it.
pub fn exported(name: &str) -> String {
    format!("{EXPORT_PREFIX}{name}")
}
