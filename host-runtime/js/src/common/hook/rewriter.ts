/** Calls the rewriter (rewriter/src/exports.rs). */

import { engine } from '../engine.js';
import { Failure, RustModule } from '../rust-module.js';

/** Options for rewriting, by the names of `kperf-wasm rewrite`'s flags. */
export interface RewriteOptions {
    /** Patterns of functions that get probes: globs, or `/regex/`. */
    only?: string[];
    /** Patterns of functions that get none. */
    skip?: string[];
    /** Names of functions that a plan leaves without probes. */
    planned?: string[];
    match?: 'auto' | 'glob' | 'regex' | 'text';
    min_instructions?: number;
    /** Only exported functions. */
    exports?: boolean;
    /** Also calls of imported functions. */
    imports?: boolean;
    probe?: 'auto' | 'import' | 'inline' | 'profile' | 'profile-without-spans';
    leaf?: 'time' | 'count';
    /** `instructions`: the module counts its executed instructions. */
    clock?: 'host' | 'instructions';
    /** Also records allocations: one sample per this many bytes, or all for 0. */
    allocations?: number | undefined;
    /** Allocator functions with other names, each as `malloc=my_alloc`. */
    allocator?: string[] | undefined;
    /** Globs of imported modules whose functions never call back into the guest. */
    no_callbacks?: string[];
    /** Whether the host's functions reach the guest as imports only. */
    closed?: boolean;
    /** The first function id. */
    id_base?: number;
    /** The name of a module without one. */
    module_name?: string;
    /** These options as text, for the symbol table. */
    description?: string;
}

/** A rewritten module's statistics. */
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
