// Runs a module under node: `node.mjs WAY MODULE EXPORT SIZE COUNT ARGUMENT ANSWER`. The trace is `guest.kperf` in the working
// directory.
import { openSync, readFileSync, statSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [way, path, name, ...numbers] = process.argv.slice(2);
const [size, count, argument, answer] = numbers.map(Number);
const CLOCKS = { Standing: 'ticker:1000ms', Ticker: 'ticker', Precise: 'precise' };
const TRACE = 'guest.kperf';

const module = new WebAssembly.Module(readFileSync(path));
const wasi = new WASI({ version: 'preview1', args: ['life', '500'], returnOnExit: true, stdout: openSync('/dev/null', 'w') });
let imports = { ...wasi.getImportObject() };
let recorder;
if (way === 'Empty') imports.kperf = { enter: (_id) => 1, leave: (_token) => {}, unwind: (_token) => {} };
else if (way !== 'None') {
    const [clock, target] = way.split('-');
    const { createRecorder, otlpFromEnvironment } = await import('../../host-runtime/js/dist/node/index.js');
    const otlp = target === 'Otlp' ? { otlp: otlpFromEnvironment(process.env) } : {};
    const settings = clock === 'Profile' ? { record: 'profile' } : { clock: CLOCKS[clock] };
    recorder = createRecorder({ path: TRACE, ...settings, calibrate: false, ...otlp });
    imports = recorder.imports(imports, module);
}
const instance = new WebAssembly.Instance(module, imports);
// One that has its recorder inside wants to be seen.
recorder?.attach?.(instance);
const batches = [];
const first = performance.now();
if (name === '_start') batches.push(timed(() => wasi.start(instance)));
else {
    // A reactor or none: `initialize` wants no `_start`.
    if (instance.exports._initialize) wasi.initialize(instance);
    const run = instance.exports[name];
    for (let n = 0; n < count; n++) {
        let answered;
        batches.push(timed(() => (answered = run(size, argument))));
        if (answered >>> 0 !== answer) throw new Error(`${answered >>> 0} where ${answer} is right`);
    }
}
const result = { batches };
if (recorder) {
    const { events, dropped_events } = await recorder.finish();
    if (dropped_events) throw new Error(`${dropped_events} events are lost`);
    Object.assign(result, { events, bytes: statSync(TRACE).size });
}
result.whole_nanos = (performance.now() - first) * 1e6;
console.log(JSON.stringify(result));

function timed(call) {
    const begun = performance.now();
    call();
    return (performance.now() - begun) * 1e6;
}
