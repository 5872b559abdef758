/** Rewrites a module in a worker. */

import { rewrite, rewritingOf, type RewriteOptions, type Rewriting } from '../common/hook/rewriter.js';

/** The message to the worker. */
export interface RewriterData {
    /** The URL of the rewriter. */
    rewriter: string;
    /** The SHA-256 of this package's rewriter. */
    version: string;
    wasm: Uint8Array;
    options: RewriteOptions;
}

/** The worker's response. */
export interface RewriterAnswer {
    rewriting: Rewriting;
    /** Whether it was this package's rewriter. */
    isOurs: boolean;
    /** The reason why there is no rewriter. */
    failure?: string;
}

async function answer({ rewriter, version, wasm, options }: RewriterData): Promise<RewriterAnswer> {
    const response = await fetch(rewriter);
    if (!response.ok) throw new Error(`${response.url} can't be loaded: ${response.status}`);
    const bytes = await response.arrayBuffer();
    // Pages without HTTPS have no `crypto.subtle`.
    const hash = globalThis.crypto?.subtle?.digest('SHA-256', bytes);
    const module = await WebAssembly.compile(bytes);
    const digits = hash && Array.from(new Uint8Array(await hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
    return { rewriting: rewritingOf(rewrite(module, wasm, options)), isOurs: digits === undefined || digits === version };
}

export async function rewriterMessage({ data }: MessageEvent<RewriterData>): Promise<void> {
    const answered = await answer(data).catch((error: unknown): RewriterAnswer => ({ rewriting: undefined, isOurs: false, failure: error instanceof Error ? error.message : String(error) }));
    const { rewriting } = answered;
    postMessage(answered, { transfer: typeof rewriting === 'object' ? [rewriting.buffer] : [] });
}
