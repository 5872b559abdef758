// A program that makes an instance for each request, with a span of its own around it. Sends its memory, in MB, each second.
//   node requests.mjs MODULE SECONDS RATE
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [path, seconds, rate] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const require = createRequire(new URL('../../package.json', import.meta.url));
const { context, trace, ROOT_CONTEXT } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const module = new WebAssembly.Module(readFileSync(path));
const begun = performance.now();
let requests = 0, answered = 0;

/** The nth request: two turns, and one in ten fails. */
async function answer(n) {
    const { exports } = await WebAssembly.instantiate(module, { host: { call: (x) => x } });
    exports.outer(n);
    await new Promise((resolve) => setTimeout(resolve, 20));
    exports.outer(n);
    if (n % 10 === 0) exports.fails();
}

const report = setInterval(() => process.send?.({ requests: answered, rss: process.memoryUsage().rss / 1e6 }), 1000);
const timer = setInterval(() => {
    const elapsed = (performance.now() - begun) / 1000;
    for (; requests < Math.min(elapsed, seconds) * rate; requests++) {
        const id = (requests + 1).toString(16).padStart(32, '0');
        context.with(trace.setSpanContext(ROOT_CONTEXT, { traceId: id, spanId: id.slice(16), traceFlags: 1 }), answer, undefined, requests)
            .catch(() => undefined).finally(() => answered++);
    }
    if (elapsed < seconds || answered < requests) return;
    clearInterval(timer);
    clearInterval(report);
    process.send?.({ requests: answered, rss: process.memoryUsage().rss / 1e6 });
    process.disconnect?.();
}, 5);
