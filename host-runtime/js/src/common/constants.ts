/** Constants of the ABI and of traces. test/constants.test.mjs compares them with guest-shim/src and kperf-trace. */

/** Import module of the probes. */
export const MODULE = 'kperf';
/** The import that every probe calls. A program that supplies it handles the probes itself. */
export const ENTER = 'enter';
/** Custom section with the symbol table of a probed module. */
export const SYMBOLS_SECTION = 'kperf.symbols';
/** Import module of the recorder's host functions. */
export const HOST_MODULE = 'kperf:host';
/** The import that every inlined recorder has. */
export const HOST_FLUSH = 'flush';
/** Everything that probes import from `MODULE`. A module with such an import of its own gets no probes. */
export const PROBES: ReadonlySet<string> = /* @__PURE__ */ new Set([ENTER, 'leave', 'unwind', 'depth', 'close', 'allocating', 'allocated', 'grew', 'created', 'instructions']);
/** Everything that an inlined recorder imports from `HOST_MODULE`. */
export const HOST_IMPORTS: ReadonlySet<string> = /* @__PURE__ */ new Set(['now', HOST_FLUSH]);
/** Prefix of an inlined recorder's exports. */
export const EXPORT_PREFIX = 'kperf.';
/** Everything that inlined recorders of any form export. A module with such an export of its own gets no probes; the program may use other names with this prefix. */
export const RECORDER_EXPORTS: ReadonlySet<string> = /* @__PURE__ */ new Set(/* @__PURE__ */ [
    'memory', 'flush', 'close', 'switch', 'mark', 'depth', 'start',
    'state.head', 'state.stack', 'state.last', 'state.instructions', 'state.allocator', 'state.sample',
    'state.top', 'state.id_base', 'state.functions',
].map((name) => EXPORT_PREFIX + name));

/** Pages of a lane's memory. */
export const MEMORY_PAGES = 2;
/** Address of the time in an inlined recorder's memory: a u64. */
export const CLOCK = 0;
/** Address of the limit below which an inlined recorder ignores the clock, a u32. A thread that writes the time then writes 0 there. */
export const LIMIT = 8;
/** The time that switches an inlined recorder off: all ones. */
export const CLOCK_OFF = -1n;
/** Fills an inlined recorder's block after its last word. */
export const END_MARK = 0xffffffff;
/** Address of the write position, a u32. */
export const POSITION = 64;
/** Address of the depths of suspended stacks, a u32 each. */
export const SAVED_DEPTHS = 1024;
/** Address of the block. */
export const START = 4096;
/** Length of a whole block in bytes. */
export const CAPACITY = MEMORY_PAGES * 65536 - START;
/** Length of a block's header in bytes. */
export const BLOCK_HEADER = 16;
/** The number of stacks that a lane distinguishes. */
export const STACKS = 768;

/** Largest payload of a mark, an unwind or a switch. */
export const MAX_PAYLOAD = 0x3ffffff;
/** Tag of a time word. */
export const TIME = 0x40000000;
/** A leave's word. */
export const LEAVE = 0x80000000;
/** Tag of an unwind. */
export const UNWIND = 0xc0000000;
/** The first of the three words of a wide time. */
export const WIDE_TIME = 0xe0000000;
/** Tag of a switch. */
export const SWITCH = 0xe4000000;
/** Tag of a mark. */
export const MARK = 0xe8000000;
/** Tag of a wait. */
export const WAIT = 0xf8000000;

/** Why frames were closed without a leave. */
export const Reason = {
    Caught: 0,
    Trap: 1,
    Exit: 2,
    Host: 3,
    Interrupted: 4,
    Unfinished: 5,
} as const;
export type Reason = (typeof Reason)[keyof typeof Reason];

/** First bytes of a trace: magic and version. */
export const PREAMBLE = /* @__PURE__ */ Uint8Array.of(0x4b, 0x50, 0x45, 0x52, 0x46, 0, 1, 4);
/** First bytes of every chunk. */
export const SYNC = /* @__PURE__ */ Uint8Array.of(0xf5, 0x6b, 0x70, 0x66);
/** Length of a chunk's header in bytes. */
export const CHUNK_HEADER = 28;
/** The recorder's number in a stall of all recorders. */
export const NO_RECORDER = 0xffffffff;
/** The first id of host functions. */
export const HOST_IDS = 1 << 29;
/** The first id for modules that are rewritten when they are loaded. Files that were rewritten before have ids from 0. */
export const LOADED_IDS = 1 << 20;

/** Addresses in a profiled module's memory: the outermost call's slot, the first count and the last slot. */
export const SHADOW_STACK = 64;
export const SHADOW_COUNTS = 1 << 20;
export const SHADOW_LAST = SHADOW_COUNTS - 16;
/** The number of slots. */
export const SHADOW_SLOTS = (SHADOW_LAST - SHADOW_STACK) / 8 + 1;
