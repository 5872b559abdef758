/** The worker that rewrites a module. scripts/build.mjs makes one text of it, `rewriter-source.ts`. */

import { rewriting, type RewriteOptions } from '../common/rewriter.js';

/** What the worker is sent. */
export interface RewriterData {
    rewriter: WebAssembly.Module;
    wasm: Uint8Array;
    options: RewriteOptions;
}

addEventListener('message', ({ data: { rewriter, wasm, options } }: MessageEvent<RewriterData>) => {
    const answer = rewriting(rewriter, wasm, options);
    postMessage({ rewriting: answer }, { transfer: typeof answer === 'object' ? [answer.buffer] : [] });
});
