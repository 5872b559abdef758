// The core: compared with the command, with traces in any pieces; its size and sources.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openTrace } from '../dist/node/index.js';
import { folder, kperf, ROOT } from './support/cli.mjs';

const work = folder();
const path = join(work, 'life.kperf');
kperf('run', join(ROOT, 'examples/game-of-life/rust/life.wasm'), '--clock', 'precise', '--trace', path, '--', '3');
const trace = readFileSync(path);
const profile = join(work, 'profile.kperf');
kperf(
    'run', join(ROOT, 'examples/game-of-life/rust/life.wasm'), '--record', 'profile', '--every', '10ms', '--span-min',
    '200us', '--trace', profile, '--', '20000',
);

/** Pieces of odd lengths. */
function* pieces(bytes, length) {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function requests(options, length) {
    const core = await openTrace({ spans: options });
    const all = [];
    for (const piece of pieces(trace, length)) {
        core.push(piece);
        all.push(...core.requests());
    }
    core.end();
    all.push(...core.requests());
    return { all, spans: all.reduce((sum, { spans }) => sum + spans, 0) };
}

test('the report is that of the command line, to the byte, of a trace and of a profile', async () => {
    for (const file of [path, profile]) {
        const expected = kperf('report', file, '--format', 'json');
        for (const length of [1 << 30, 1009]) {
            const core = await openTrace({ tree: true });
            for (const piece of pieces(readFileSync(file), length)) core.push(piece);
            core.end();
            assert.equal(core.reportText(), expected);
        }
    }
});

test('the call tree sums up to the report, and is there while the trace grows', async () => {
    const core = await openTrace({ tree: true });
    core.push(trace.subarray(0, trace.length >> 1));
    const half = core.tree();
    core.push(trace.subarray(trace.length >> 1));
    core.end();
    const tree = core.tree();
    const sums = new Map();
    tree.function.forEach((number, node) => {
        if (node > 0) sums.set(tree.names[number], (sums.get(tree.names[number]) ?? 0) + tree.calls[node]);
    });
    const { functions } = JSON.parse(kperf('report', path, '--format', 'json'));
    assert.equal(functions.length > 10, true);
    // Names of several functions have a number in the tree.
    for (const { name, id, calls } of functions) {
        assert.equal(sums.get(name) ?? sums.get(`${name} #${id}`), calls, name);
    }
    assert.equal(tree.parent.every((parent, node) => parent < node || node === 0), true);
    assert.equal(half.calls.length <= tree.calls.length && half.wall_nanos <= tree.wall_nanos, true);
});

test('a profile has exact counts, and times with their error, while it grows too', async () => {
    const core = await openTrace({ tree: true });
    const bytes = readFileSync(profile);
    const last = bytes.lastIndexOf('PROF');
    core.push(bytes.subarray(0, last));
    const before = core.report();
    core.push(bytes.subarray(last));
    core.end();
    const { calls, functions, sampling } = core.report();
    const found = functions.find(({ name }) => name === 'life::n_live_neighbors');
    assert.deepEqual([found.calls, found.min_nanos], [8_000_000, null]);
    assert.equal(found.self_nanos > 0 && found.share_error > 0 && found.share_error < 0.5, true, JSON.stringify(found));
    // On a busy machine the sampler may not run for a while, and the last window may have few samples, or all.
    const seen = before.sampling?.samples ?? 0;
    assert.equal(
        before.calls <= calls && seen <= sampling.samples && sampling.samples > 0, true,
        `${before.calls}, ${calls}, ${seen}`,
    );
    const tree = core.tree();
    const sum = tree.function.reduce(
        (sum, number, node) => sum + (tree.names[number] === found.name ? tree.calls[node] : 0), 0,
    );
    assert.equal(sum, found.calls);
    const self = tree.self_nanos.reduce((sum, nanos) => sum + nanos, 0);
    assert.equal(Math.abs(tree.total_nanos[0] - self) <= tree.calls.length, true, `${tree.total_nanos[0]}, ${self}`);
});

test('spans are the same however the trace comes', async () => {
    const whole = await requests({ seed: 7 }, 1 << 30);
    const { calls } = JSON.parse(kperf('report', path, '--format', 'json'));
    assert.deepEqual([calls > 10_000, whole.spans], [true, calls]);
    const parts = await requests({ seed: 7 }, 777);
    assert.deepEqual(parts.all, whole.all);
    const few = await requests({ seed: 7, max_spans: 100, service_name: 'life' }, 4096);
    assert.equal(few.spans, 100);
});

test('spans are those of the command line, to the byte', async () => {
    const slow = await openTrace({ spans: {} });
    slow.push(readFileSync(profile));
    slow.end();
    kperf('export', profile, '--format', 'otlp', '-o', join(work, 'slow.pb'));
    assert.deepEqual(Buffer.concat([...slow.requests()].map(({ body }) => body)), readFileSync(join(work, 'slow.pb')));
    for (const [options, ...flags] of [
        [{}],
        [{ seed: 7, per_run: true }, '--seed', '7', '--roots', 'run'],
        [{ min_nanos: 100, max_depth: 9 }, '--min-time', '100ns', '--depth', '9'],
        [{ max_spans: 100, service_name: 'life' }, '--max-spans', '100', '--service-name', 'life'],
        [
            { parent: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } }, '--traceparent',
            '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        ],
    ]) {
        const file = join(work, 'spans.pb');
        kperf('export', path, '--format', 'otlp', ...flags, '-o', file);
        const { all, spans } = await requests(options, 4096);
        assert.equal(spans > 20, true, `${spans} spans`);
        // Concatenated messages are one message with all fields, as the command writes it.
        assert.deepEqual(Buffer.concat(all.map(({ body }) => body)), readFileSync(file), flags.join(' '));
    }
});

test('what is no trace is refused', async () => {
    const core = await openTrace({ tree: true, spans: {} });
    assert.throws(() => core.push(Buffer.from('not a trace at all')), /kperf: .*not.*trace/i);
    await assert.rejects(openTrace({ spans: { sed: 1 } }), /bad options: unknown field `sed`/);
});

test('it is built from these sources: scripts/js-core', () => {
    const sources = execFileSync(join(ROOT, 'scripts/js-core'), ['--sources'], { encoding: 'utf8' });
    assert.equal(sources, readFileSync('core/core.sources', 'utf8'), 'scripts/js-core builds it anew');
});

test('it is small', (t) => {
    const wasm = readFileSync('dist/core.wasm');
    const packed = gzipSync(wasm, { level: 9 }).length;
    t.diagnostic(`core.wasm: ${wasm.length} bytes, ${packed} gzipped`);
    // (150,000 until a call tree had limits, 155,000 until clocks could count instructions and a bad field cost only
    // itself, 170,000 until there were names from elsewhere, allocations and the stretches of `view`, 180,000 until a
    // trace told the recorder's own time, and which functions are inlined, 190,000 until windows of profiles named
    // their parent, 203,000 until traces had waits and repeated runs, 212,000 until windows had the calls of each path,
    // 213,000 until waits of the guest were told from its calls.)
    assert.equal(packed < 214_000, true, `${packed} bytes gzipped`);
    assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(wasm)), []);
});
