//! The reserved names of a probed module's imports, exports and sections. A module that has one of them before is refused.

/// Import module of the probes.
pub const MODULE: &str = "kperf";
/// `enter(func_id: i32) -> token: i32`: a probed function calls it first.
pub const ENTER: &str = "enter";
/// `leave(token: i32)`: a probed function calls it last.
pub const LEAVE: &str = "leave";
/// `unwind(token: i32)`: the frames above the one with this token were unwound. Only modules that need it import it.
pub const UNWIND: &str = "unwind";

/// Recorder export `leaf(func_id: i32)`: the function was called; how long it takes is not measured. Only a recorder that is
/// a part of its module has it.
pub const LEAF: &str = "leaf";

/// `allocating(token: i32)`: an allocator's function calls it after its enter. Only modules whose allocations are recorded
/// import this and the next three.
pub const ALLOCATING: &str = "allocating";
/// `allocated(token: i32, old: i64, size: i64, new: i64)`: an allocator's function calls it after its leave. `old` is the block that it was given,
/// `size` how many bytes it was asked for, `new` the block that it gave; 0 where there is none. `old` is -1 if what it gave is
/// collected. What a collector frees while an allocator runs has the token -1, and no `allocating` before it.
pub const ALLOCATED: &str = "allocated";
/// `grew(memory: i32, pages: i64, before: i64)`: a `memory.grow` was executed. `before` is its result.
pub const GREW: &str = "grew";
/// `created(size: i64)`: an object of so many bytes was made, which is collected.
pub const CREATED: &str = "created";

/// The mutable global of type `i64` that a module with imported probes adds the number of its instructions to, if these are its clock. It is
/// the recorder's, so that all modules of a lane share it, and the host can read it whatever happens to them.
pub const INSTRUCTIONS: &str = "instructions";
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

/// Name of the instance that a component with probes imports: what its recorders want from the host. For a trace its functions are
/// `now: func() -> u64`, `attach: func(memory: list<u8>) -> u32`, and
/// `flush: func(lane: u32, depth: u32, last: u64, lost: u64, block: list<u8>)`; where instructions are the clock, [`HOST_ATTACH_COUNTING`]
/// and `flush`; for a profile, [`HOST_ATTACH_PROFILE`] alone.
pub const COMPONENT_HOST: &str = "kperf:host/recorder";
/// `attach(memory) -> lane`: a recorder begins. `memory` is all of its memory, which stays where it is as long as the store lives.
pub const HOST_ATTACH: &str = "attach";
/// `attach-counting(memory) -> lane`: the same for a recorder whose clock is the number of instructions that are executed.
pub const HOST_ATTACH_COUNTING: &str = "attach-counting";
/// `attach-profile(memory: list<u8>, first: u32, functions: u32)`: the same for one that makes a profile (see [`crate::shadow`]). The first
/// count is that of the function with the id `first`; there are `functions` counts.
pub const HOST_ATTACH_PROFILE: &str = "attach-profile";
/// Export of the recorder of a component, a mutable i32: not 0 while the component may not be left, in `realloc` and
/// `post-return`.
pub const HOLD: &str = "hold";
/// Export of the recorder of a component, a mutable i32: the token of a call of the component that has returned, and whose result the
/// host lifts until it calls `post-return`; 0 if there is none.
pub const RETURNED: &str = "returned";
/// Export of the recorder of a component, `look()`: it takes the time. What comes while the component may not be left can't ask the host
/// for it, and happens at the time that was taken last.
pub const LOOK: &str = "look";

/// Recorder export `close(reason: i32, depth: i32)`: closes the frames deeper than `depth`, for a reason. Hosts call it, and
/// so do modules that import [`DEPTH`].
pub const CLOSE: &str = "close";
/// Recorder export `switch(stack: i32)`: from here on the events belong to another of this lane's stacks.
pub const SWITCH: &str = "switch";
/// Recorder export `mark(value: i32)`: a point in time that the host wants to see in the trace.
pub const MARK: &str = "mark";
/// Recorder export `flush()`: hands what is in the block to the host now.
pub const FLUSH: &str = "flush";
/// Recorder export `depth() -> i32`: how many frames of the running stack are open. A module imports it, with [`CLOSE`], if
/// functions without a probe may catch exceptions. Such a function notes the depth when it begins. When it catches, it
/// closes the frames that are deeper.
pub const DEPTH: &str = "depth";

/// Recorder export, a mutable i32: how many frames of the running stack are open. With this global and the next two a host
/// can do what `close`, `switch` and `mark` do, without running guest code. It needs that when fuel is spent, when an epoch
/// has ended, or when a call would have to be asynchronous.
pub const STATE_DEPTH: &str = "state.depth";
/// Recorder export, a mutable i32: the number of the stack that runs.
pub const STATE_STACK: &str = "state.stack";
/// Recorder export, a mutable i64: the time of the last word, in ticks.
pub const STATE_LAST: &str = "state.last";
/// Export of a recorder inside a module, a mutable i64. The lower half is where the next word goes, 0 before the first event; the
/// upper half is what others have in [`STATE_DEPTH`].
pub const STATE_HEAD: &str = "state.head";
/// Export of a recorder whose clock is the number of executed instructions, a mutable i64: that number. The rewriter makes
/// the module increase it.
pub const STATE_INSTRUCTIONS: &str = "state.instructions";

/// Recorder export, a mutable i32: the token of the outermost open call of an allocator's function, 0 if none is open. A host
/// that sets [`STATE_DEPTH`] to less sets it to 0.
pub const STATE_ALLOCATOR: &str = "state.allocator";

/// Export of a recorder inside a module, an i64: of what is allocated one sample in so many bytes is recorded; 0: all of it.
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

/// Template of an `enter`: the rewriter copies its body into each probed function. Only a recorder that becomes a part of its
/// module has templates. The first parameter stands for the id (if the recorder makes profiles, the second stands for the
/// address of the count), the others stand for locals.
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
/// Template of a `leaf`: the only probe in a function whose calls are counted only. If the recorder makes traces, the second
/// parameter is the one local that it needs.
pub const INLINE_LEAF: &str = "inline.leaf";
/// Template of an `unwind`.
pub const INLINE_UNWIND: &str = "inline.unwind";
/// Template for the beginning of a function that has no probe and may catch: it keeps the depth in a local, the first of
/// those that an `enter` needs.
pub const INLINE_HERE: &str = "inline.here";
/// Template for the places where a function without a probe may have caught: it closes the frames that are deeper.
pub const INLINE_BACK: &str = "inline.back";

/// Whether probes need this import, in any of their forms. Anybody may use the other names of these modules.
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

/// The name under which a module exports what its own recorder exports as `name`.
pub fn exported(name: &str) -> String {
    format!("{EXPORT_PREFIX}{name}")
}
