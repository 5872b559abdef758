/** The script of our own workers, which does what a worker's name says. scripts/build.mjs embeds it as `own-source.ts`. */

import { rewriterMessage } from './rewriter-thread.js';
import { samplerMessage } from './sampler-thread.js';
import { tickerMessage } from './ticker-thread.js';

const messages: Record<string, (event: MessageEvent) => unknown> = { 'kperf-rewriter': rewriterMessage, 'kperf-sampler': samplerMessage, 'kperf-ticker': tickerMessage };
addEventListener('message', messages[(globalThis as { name?: string }).name!]!);
