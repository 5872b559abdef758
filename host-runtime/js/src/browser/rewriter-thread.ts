/** The worker that rewrites a module. scripts/build.mjs makes one text of it, `rewriter-source.ts`. */

import { rewrite, rewritingOf, type RewriteOptions, type Rewriting } from '../common/hook/rewriter.js';

/** What the worker is sent. */
export interface RewriterData {
    /** The address of the rewriter. */
    rewriter: string;
    /** Its SHA-256, as this package has it. */
    version: string;
    wasm: Uint8Array;
    options: RewriteOptions;
}

/** What the worker answers. */
export interface RewriterAnswer {
    rewriting: Rewriting;
    /** Whether the rewriter was that of this package. */
    isOurs: boolean;
    /** Why there is no rewriter. */
    failure?: string;
}

async function answer({ rewriter, version, wasm, options }: RewriterData): Promise<RewriterAnswer> {
    const response = await fetch(rewriter);
    if (!response.ok) throw new Error(`${response.url} can't be loaded: ${response.status}`);
    const bytes = await response.arrayBuffer();
    // (Pages that others may have changed on the way have no hashes.)
    const hash = globalThis.crypto?.subtle?.digest('SHA-256', bytes);
    const module = await WebAssembly.compile(bytes);
    const digits = hash && Array.from(new Uint8Array(await hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
    return { rewriting: rewritingOf(rewrite(module, wasm, options)), isOurs: digits === undefined || digits === version };
}

addEventListener('message', async ({ data }: MessageEvent<RewriterData>) => {
    const answered = await answer(data).catch((error: unknown): RewriterAnswer => ({ rewriting: undefined, isOurs: false, failure: error instanceof Error ? error.message : String(error) }));
    const { rewriting } = answered;
    postMessage(answered, { transfer: typeof rewriting === 'object' ? [rewriting.buffer] : [] });
});
