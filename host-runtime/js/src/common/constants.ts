/** What hosts, the recorder and traces agree on. test/constants.test.ts holds it against guest-shim/src and kperf-trace. */

/** Import module of the probes. */
export const MODULE = 'kperf';
/** Its function that every probe calls. Whoever supplies it answers the probes. */
export const ENTER = 'enter';
/** Custom section with the symbol table of a probed module. */
export const SYMBOLS_SECTION = 'kperf.symbols';
/** Import module of what a recorder wants from its host. */
export const HOST_MODULE = 'kperf:host';
/** Its function that every recorder inside of a module imports. */
export const HOST_FLUSH = 'flush';
/** All that probes import from `MODULE`. A module that has such an import of its own gets no probes. */
export const PROBES: ReadonlySet<string> = new Set([ENTER, 'leave', 'unwind', 'depth', 'close', 'allocating', 'allocated', 'grew', 'created', 'instructions']);
/** All that a recorder inside of a module imports from `HOST_MODULE`. */
export const HOST_IMPORTS: ReadonlySet<string> = new Set(['now', HOST_FLUSH]);
/** Prefix of the recorder's export names when it is a part of the module. */
export const EXPORT_PREFIX = 'kperf.';
/**
 * All that recorders inside of modules export, of whatever form. A module that has such an export of its own gets no probes; other names
 * with this prefix are the program's.
 */
export const RECORDER_EXPORTS: ReadonlySet<string> = new Set([
    'memory', 'flush', 'close', 'switch', 'mark', 'depth', 'start',
    'state.head', 'state.stack', 'state.last', 'state.instructions', 'state.allocator', 'state.sample',
    'state.top', 'state.id_base', 'state.functions',
].map((name) => EXPORT_PREFIX + name));

/** Pages of a lane's memory. */
export const MEMORY_PAGES = 2;
/** Address of the time in a lane's memory, if its recorder is a part of a module: a u64. */
export const CLOCK = 0;
/** Address of what makes such a recorder look at it, a u32: whoever writes the time writes 0 there afterwards. */
export const LIMIT = 8;
/** The time that switches it off: all ones. */
export const CLOCK_OFF = -1n;
/** Fills a block behind its last word, if its recorder is a part of a module. */
export const END_MARK = 0xffffffff;
/** Address of the write position, a u32. */
export const POSITION = 64;
/** Address of the depths of the stacks that don't run, a u32 each. */
export const SAVED_DEPTHS = 1024;
/** Address of the block. */
export const START = 4096;
/** Length of a whole block in bytes. */
export const CAPACITY = MEMORY_PAGES * 65536 - START;
/** Length of a block's header in bytes. */
export const BLOCK_HEADER = 16;
/** How many stacks a lane can tell apart. */
export const STACKS = 768;

/** Largest payload of a mark, an unwind or a switch. */
export const MAX_PAYLOAD = 0x3ffffff;
/** Tag of a time word. */
export const TIME = 0x40000000;
/** The whole of a leave. */
export const LEAVE = 0x80000000;
/** Tag of an unwind. */
export const UNWIND = 0xc0000000;
/** The first of the three words of a wide time. */
export const WIDE_TIME = 0xe0000000;
/** Tag of a switch. */
export const SWITCH = 0xe4000000;
/** Tag of a mark. */
export const MARK = 0xe8000000;

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
export const PREAMBLE = /* @__PURE__ */ Uint8Array.of(0x4b, 0x50, 0x45, 0x52, 0x46, 0, 1, 3);
/** First bytes of every chunk. */
export const SYNC = /* @__PURE__ */ Uint8Array.of(0xf5, 0x6b, 0x70, 0x66);
/** Length of a chunk's header in bytes. */
export const CHUNK_HEADER = 28;
/** Takes the place of the recorder's number in a stall that concerns all recorders. */
export const NO_RECORDER = 0xffffffff;
/** The first id for functions of the host: those of modules count from 0. */
export const HOST_IDS = 1 << 29;
/** Ids of modules that get their probes when they are loaded begin here: those of files that were rewritten before count from 0. */
export const LOADED_IDS = 1 << 20;

/** Of a module that makes a profile: address of the outermost call's slot, of the last slot, and of the first count. */
export const SHADOW_STACK = 64;
export const SHADOW_COUNTS = 1 << 20;
export const SHADOW_LAST = SHADOW_COUNTS - 16;
/** How many slots there are. */
export const SHADOW_SLOTS = (SHADOW_LAST - SHADOW_STACK) / 8 + 1;
