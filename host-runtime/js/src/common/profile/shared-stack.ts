/**
 * The shadow stacks of modules with imported probes, in a profile: all their instances in a thread share one, and cost it nothing of their own.
 * The recorder is that of components (guest-shim/src/recorder/profile.wat).
 */

import { EXPORT_PREFIX, HOST_MODULE, SHADOW_COUNTS } from '../constants.js';
import { instantiate } from '../instantiate.js';
import { SHADOW } from '../wasm-source.js';

interface ShadowExports {
    enter: (id: number) => number;
    leave: (frame: number) => void;
    unwind: (frame: number) => void;
    depth: () => number;
    close: (reason: number, depth: number) => void;
    'state.top': WebAssembly.Global;
}

interface SharedStack {
    first: number;
    end: number;
    probes: WebAssembly.ModuleImports;
    /** What a profiled instance exports: `Profile` holds this weakly. */
    exports: WebAssembly.Exports;
}

/** A stack has counts for at least this many functions, so that many small modules share it. */
const MIN_COUNTS = 8192;
const PAGE = 65536;

/** A thread's. */
export class SharedStacks {
    readonly #stacks: SharedStack[] = [];

    /** The probes of a module with these ids. Calls `profile` with what a new stack exports. */
    of(first: number, count: number, profile: (exports: WebAssembly.Exports) => void): WebAssembly.ModuleImports {
        const known = this.#stacks.find((stack) => stack.first <= first && first + count <= stack.end);
        if (known) return known.probes;
        const stack = makeStack(first, Math.max(MIN_COUNTS, count));
        this.#stacks.push(stack);
        profile(stack.exports);
        return stack.probes;
    }
}

function makeStack(first: number, count: number): SharedStack {
    const pages = Math.ceil((SHADOW_COUNTS + 8 * count) / PAGE);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    const host = { memory, 'attach-profile': () => undefined, 'state.id_base': first, 'state.functions': count };
    const { enter, leave, unwind, depth, close, 'state.top': top } = instantiate<ShadowExports>(SHADOW, { [HOST_MODULE]: host });
    const exports = { memory, 'state.top': top, 'state.id_base': { value: first }, 'state.functions': { value: count } };
    const named = Object.fromEntries(Object.entries(exports).map(([name, value]) => [EXPORT_PREFIX + name, value]));
    return { first, end: first + count, probes: { enter, leave, unwind, depth, close }, exports: named as unknown as WebAssembly.Exports };
}
