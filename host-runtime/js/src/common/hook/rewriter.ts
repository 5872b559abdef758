/** Calls the rewriter (rewriter/src/exports.rs). */

import { engine } from '../engine.js';
import { Failure, RustModule } from '../rust-module.js';

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
    kperf_options(length: number): number;
    kperf_rewrite(length: number): number;
    kperf_summary(): number;
}

const PROBED = 1;

/** A module with probes, the reason why it can't have any, or neither: it has probes already, or the filters select none of its functions. */
export interface Rewritten {
    wasm?: Uint8Array<ArrayBuffer>;
    summary?: RewriteSummary;
    refusal?: string;
}

/** The same without the summary. */
export type Rewriting = Uint8Array<ArrayBuffer> | string | undefined;

export function rewritingOf({ wasm, refusal }: Rewritten): Rewriting {
    return refusal ?? wasm;
}

/** Puts probes into a module. The rewriter gets an instance for this call alone, whose memory may be six times the module. */
export function rewrite(rewriter: WebAssembly.Module, wasm: Uint8Array, options: RewriteOptions): Rewritten {
    const module = new RustModule<RewriterExports>(new engine.Instance(rewriter));
    const { kperf_options, kperf_rewrite, kperf_summary } = module.exports;
    try {
        module.callWith(kperf_options, options);
        if (module.call(kperf_rewrite, wasm) !== PROBED) return {};
    } catch (error) {
        if (error instanceof Failure) return { refusal: error.message };
        throw error;
    }
    const rewritten = module.output().slice();
    module.check(kperf_summary());
    return { wasm: rewritten, summary: JSON.parse(module.text()) as RewriteSummary };
}
