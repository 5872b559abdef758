/** The rewriter: what its module exports (rewriter/src/exports.rs). */

import { engine } from '../engine.js';

/** How modules are rewritten. The fields are the flags of `kperf-wasm rewrite`. */
export interface RewriteOptions {
    /** Patterns of the functions that get probes: a glob, or a `/regex/`. */
    only?: string[];
    /** Patterns of those that get none. */
    skip?: string[];
    match?: 'auto' | 'glob' | 'regex' | 'text';
    min_instructions?: number;
    /** Only functions that the module exports. */
    exports?: boolean;
    /** Calls of the host's functions too. */
    imports?: boolean;
    probe?: 'auto' | 'import' | 'inline' | 'profile' | 'profile-without-spans';
    leaf?: 'time' | 'count';
    /** `instructions`: the module counts what it executes, with its recorder inside. */
    clock?: 'host' | 'instructions';
    /** What is allocated is recorded too: one sample in so many bytes, or all for 0. */
    allocations?: number | undefined;
    /** Functions of an allocator of another name, each as `malloc=my_alloc`. */
    allocator?: string[] | undefined;
    /** The first function id. */
    id_base?: number;
    /** What to call a module that doesn't say its name. */
    module_name?: string;
    /** What the symbol table says of these options. */
    description?: string;
}

/** What was done to a module. */
export interface RewriteSummary {
    functions: number;
    probed: number;
    inline: boolean;
    id_end: number;
    warnings: string[];
}

interface RewriterExports {
    memory: WebAssembly.Memory;
    kperf_input(length: number): number;
    kperf_options(length: number): number;
    kperf_rewrite(length: number): number;
    kperf_summary(): number;
    kperf_output(): number;
    kperf_output_length(): number;
}

const FAILED = -1;
const PROBED = 1;

/** A module with probes; why it can't have any; or `undefined` if it stays as it is, since none of its functions is meant. */
export type Rewriting = Uint8Array<ArrayBuffer> | string | undefined;

/** What became of a module: with probes, why it can't have any, or neither. */
export interface Rewritten {
    wasm?: Uint8Array<ArrayBuffer>;
    summary?: RewriteSummary;
    refusal?: string;
}

/** Puts probes into a module. Wants the rewriter's module. (Its instance is for this alone: its memory may be six times the module.) */
export function rewriting(rewriter: WebAssembly.Module, wasm: Uint8Array, options: RewriteOptions): Rewriting {
    return rewritingOf(rewritten(rewriter, wasm, options));
}

/** The same, without what was done. */
export function rewritingOf({ wasm, refusal }: Rewritten): Rewriting {
    return refusal ?? wasm;
}

/** Puts probes into a module, and tells what was done. */
export function rewritten(rewriter: WebAssembly.Module, wasm: Uint8Array, options: RewriteOptions): Rewritten {
    try {
        return rewrite(rewriter, wasm, options) ?? {};
    } catch (error) {
        if (error instanceof Refusal) return { refusal: error.message };
        throw error;
    }
}

/** Why a module can't be rewritten. */
class Refusal extends Error {}

/** The same, with what was done. Throws if it can't be done. */
export function rewrite(rewriter: WebAssembly.Module, wasm: Uint8Array, options: RewriteOptions): { wasm: Uint8Array<ArrayBuffer>; summary: RewriteSummary } | undefined {
    const exports = new engine.Instance(rewriter).exports as unknown as RewriterExports;
    const put = (bytes: Uint8Array): number => {
        const at = exports.kperf_input(bytes.length);
        new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
        return bytes.length;
    };
    const output = (): Uint8Array<ArrayBuffer> => new Uint8Array(exports.memory.buffer as ArrayBuffer, exports.kperf_output(), exports.kperf_output_length()).slice();
    const text = (): string => new TextDecoder().decode(output());
    const check = (status: number): number => {
        if (status === FAILED) throw new Refusal(text());
        return status;
    };
    check(exports.kperf_options(put(new TextEncoder().encode(JSON.stringify(options)))));
    if (check(exports.kperf_rewrite(put(wasm))) !== PROBED) return undefined;
    const rewritten = output();
    check(exports.kperf_summary());
    return { wasm: rewritten, summary: JSON.parse(text()) as RewriteSummary };
}
