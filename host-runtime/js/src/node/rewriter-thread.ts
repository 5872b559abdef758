/** The thread that rewrites a large module. */

import { parentPort, workerData } from 'node:worker_threads';
import { rewrite, type RewriteOptions } from '../common/hook/rewriter.js';

export interface RewriterData {
    kperf: 'rewriter';
    rewriter: WebAssembly.Module;
    wasm: Uint8Array;
    options: RewriteOptions;
}

const { rewriter, wasm, options } = workerData as RewriterData;
const answer = rewrite(rewriter, wasm, options);
parentPort?.postMessage(answer, answer.wasm ? [answer.wasm.buffer] : []);
