// Spans of calls within one turn of the event loop belong to the async context in which they run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { kperf, PACKAGE, probed } from './support/cli.mjs';
import { assembleFib, lines, run, work } from './support/program.mjs';

assembleFib();
probed('test/programs/calls.wat', join(work, 'calls.wasm'));

const api = (name) => pathToFileURL(join(PACKAGE, 'node_modules/@opentelemetry', name)).href;
/** A program in which `within(n, call)` calls something under the span of the nth of many traces. */
const SPANS = `
    import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
    import { readFileSync } from 'node:fs';
    import { createRequire } from 'node:module';
    const require = createRequire('${join(PACKAGE, 'package.json')}');
    const { context, trace, ROOT_CONTEXT } = require('@opentelemetry/api');
    const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const id = (n) => String(n + 1).padStart(32, '0');
    const within = (n, call, traceFlags = 1) =>
        context.with(trace.setSpanContext(ROOT_CONTEXT, { traceId: id(n), spanId: id(n).slice(16), traceFlags }), call);
    const { instance } = await WebAssembly.instantiate(readFileSync('FIB'));
    const fib = () => instance.exports.fib(1);
    const all = (call) => { for (let n = 0; n < 20; n++) call(n); };
`;

/** The number of spans in each trace, as `{ n: spans }`; those without a parent are in \`none\`. */
function spansOf(trace) {
    const out = join(work, 'spans.json');
    kperf('export', trace, '--format', 'otlp-json', '-o', out);
    const spans = readFileSync(out, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans);
    const counts = {};
    for (const { traceId, parentSpanId } of spans) {
        const n = parentSpanId ? Number(traceId) - 1 : 'none';
        counts[n] = (counts[n] ?? 0) + 1;
    }
    return counts;
}
const each = (count, skip = () => false) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, n) => [n, count]).filter(([n]) => !skip(n)));

for (const [name, [program, expected]] of Object.entries({
    'that wait for one promise': [`
        const ready = new Promise((resolve) => setTimeout(resolve, 20));
        all((n) => within(n, async () => { await ready; fib(); await null; fib(); }));`, each(2)],
    'in a loop, nested or not': [`
        all((n) => within(n, () => { fib(); if (n > 0) within(n - 1, fib); fib(); }));`, { ...each(3), 19: 2 }],
    'after ticks and microtasks': [`
        all((n) => within(n, () => process.nextTick((a, b) => { fib(); if (a + b !== 3) throw new Error(); }, 1, 2)));
        all((n) => within(n, () => queueMicrotask(fib)));`, each(2)],
    'of snapshots and resources': [`
        const snapshots = [];
        all((n) => within(n, () => {
            const resource = new AsyncResource('x');
            snapshots.push(AsyncLocalStorage.snapshot(), (call) => resource.runInAsyncScope(call));
        }));
        for (const within of snapshots) within(fib);`, each(2)],
    'of which every other is sampled': [`
        const ready = new Promise((resolve) => setTimeout(resolve, 20));
        all((n) => within(n, async () => { await ready; fib(); }, n % 2));`, each(1, (n) => n % 2 === 0)],
    'and then without any': [`
        const ready = new Promise((resolve) => setTimeout(resolve, 20));
        all((n) => within(n, async () => { await ready; fib(); }));
        ready.then(fib);`, { ...each(1), none: 1 }],
})) {
    test(`calls of many spans in one turn, ${name}`, () => {
        for (const probe of ['auto', 'import']) {
            const { status, stderr, trace } = run(SPANS + program, { env: { KPERF_PROBE: probe } });
            assert.equal(status, 0, stderr);
            assert.deepEqual(spansOf(trace), expected, probe);
        }
    });
}

test('a call that fails keeps its calls, and another context of the turn begins anew', () => {
    const { stderr, trace } = run(`${SPANS}
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync('WORK/calls.wasm')), {
            host: { call(n) { if (n === 1) throw new Error('no'); within(7, () => exports.leaf()); } } });
        const ready = new Promise((resolve) => setTimeout(resolve, 20));
        for (const n of [1, 2]) within(n, async () => { await ready; exports.outer(n); }).catch(() => {});`);
    assert.deepEqual(lines(trace), [
        'outer() {', '  inner(); /* host error */', '} /* outer: host error */',
        // What the guest's import calls stays below it, also within another span.
        'outer() {', '  inner() {', '    leaf();', '  } /* inner */', '  leaf();', '} /* outer */',
    ], stderr);
});
