// Runs modules under node, in an order, each run in an instance of its own; the job is JSON (tools.rs). A run's trace is
// `guest.kperf` in the working directory, or `profile-N.kperf` of run N.
import { openSync, readFileSync, statSync } from 'node:fs';
import { WASI } from 'node:wasi';
import * as real from './real.mjs';

const CLOCKS = { Standing: 'ticker:1000ms', Ticker: 'ticker', Precise: 'precise', Off: 'ticker' };

const { ways, modules, order, long, program, name, size, count, argument, answer } = JSON.parse(process.argv[2]);
const compiled = modules.map((path) => new WebAssembly.Module(readFileSync(path)));
const nowhere = openSync('/dev/null', 'w');
const runs = [];
for (const [n, at] of order.entries()) runs.push(await run(ways[at], compiled[at], n));
console.log(JSON.stringify(runs));

async function run(way, module, n) {
    const path = way === 'Profile' ? `profile-${n}.kperf` : 'guest.kperf';
    const recorder = await recorderFor(way, path);
    const result = { batches: [] };
    const before = took();
    let [first, nanos] = [undefined, 0];
    do {
        const work = prepared(way, module, recorder);
        first ??= performance.now();
        work(result);
        nanos = result.batches.reduce((sum, batch) => sum + batch, 0);
    } while (nanos < long);
    const ended = performance.now();
    let waits = 0;
    if (recorder) {
        const { events, dropped_events, writer_stalls } = await recorder.finish();
        if (dropped_events) throw new Error(`${dropped_events} events are lost`);
        if (way === 'Off' && events !== 0) throw new Error(`${events} events while switched off`);
        Object.assign(result, { events, bytes: statSync(path).size });
        waits = writer_stalls.nanos;
    }
    const complete = performance.now();
    result.whole_nanos = (complete - first) * 1e6;
    if (long) result.sustained = { waits, others: took() - before, late: (complete - ended) * 1e6 };
    return result;
}

/** The recorder of a way, if it has one. */
async function recorderFor(way, path) {
    if (way === 'None' || way === 'Empty') return undefined;
    const [clock, target] = way.split('-');
    const { createRecorder, otlpFromEnvironment } = await import('../../host-runtime/js/dist/node/index.js');
    const otlp = target === 'Otlp' ? { otlp: otlpFromEnvironment(process.env) } : {};
    const record = clock === 'Profile' ? { record: 'profile' } : { clock: CLOCKS[clock] };
    const recorder = createRecorder({ path, ...record, calibrate: false, ...otlp });
    // Before there is an instance: its start function has probes too.
    if (way === 'Off') recorder.setRecording(false);
    return recorder;
}

/** Makes an instance ready. The answer does its work, and adds to a result how long that took. */
function prepared(way, module, recorder) {
    const settings = program ? real.settings(program) : { args: ['life', '500'] };
    const wasi = new WASI({ version: 'preview1', ...settings, returnOnExit: true, stdout: nowhere, stderr: nowhere });
    let imports = { ...wasi.getImportObject() };
    if (program) real.complete(imports, module);
    if (way === 'Empty') imports.kperf = { enter: (_id) => 1, leave: (_token) => {}, unwind: (_token) => {}, depth: () => 0, close: (_reason, _depth) => {} };
    if (recorder) imports = recorder.imports(imports, module);
    const instance = new WebAssembly.Instance(module, imports);
    // One that has its recorder inside wants to be seen.
    recorder?.attach?.(instance);
    const start = () => wasi.start(instance);
    // A reactor or none: `initialize` wants no `_start`.
    if (instance.exports._initialize) wasi.initialize(instance);
    if (program || name === '_start') {
        const work = program ? real.prepare(program, instance, start) : start;
        return (result) => {
            let code;
            measured(result, () => result.batches.push(timed(() => (code = work()))));
            if (code !== 0) throw new Error(`it ended with ${code}`);
        };
    }
    const called = instance.exports[name];
    return (result) => measured(result, () => {
        for (let n = 0; n < count; n++) {
            let answered;
            result.batches.push(timed(() => (answered = called(size, argument))));
            if (answered >>> 0 !== answer) throw new Error(`${answered >>> 0} where ${answer} is right`);
        }
    });
}

function timed(call) {
    const begun = performance.now();
    call();
    return (performance.now() - begun) * 1e6;
}

/** What the other threads of this process took so far, in nanoseconds; NaN where node doesn't tell. */
function took() {
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage?.() ?? { user: NaN, system: NaN }];
    return (all.user + all.system - own.user - own.system) * 1e3;
}

// Adds for how long this thread ran, where node tells. It learns that at the kernel's ticks only, which short work hardly meets unless
// it is done again and again.
function measured(result, work) {
    const before = process.threadCpuUsage?.();
    work();
    if (!before) return;
    const { user, system } = process.threadCpuUsage(before);
    if (long || user + system >= 20_000) result.thread_nanos = (result.thread_nanos ?? 0) + (user + system) * 1e3;
}
