// Plays the Game of Life in node, and shows where its time went. Spans go to a Collector if the environment names one.
//
//     kperf-wasm rewrite ../game-of-life/rust/life.wasm -o life.probed.wasm            # or c, or kotlin
//     OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 KPERF_SPAN_MIN_NANOS=20000 node life.mjs life.probed.wasm 500
//     kperf-wasm view life.kperf
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';
import { createRecorder, openTrace, otlpFromEnvironment } from 'kperf-wasm';

const [path, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['life', ...args], returnOnExit: true });
const kperf = createRecorder({ path: 'life.kperf', otlp: otlpFromEnvironment(process.env) });

// JavaScript's own work stands beside the guest's.
const module = await kperf.span('compile', async () => WebAssembly.compile(await readFile(path)));
const instance = await WebAssembly.instantiate(module, kperf.imports(wasi.getImportObject(), module));
const code = kperf.call(() => wasi.start(instance));

const { events, probes, sent } = await kperf.finish(code === 0 ? 'completed' : `exit ${code}`);
console.log(`${events} events of ${probes} functions`);
if (sent) console.log(`${sent.delivery?.acknowledged ?? 0} spans sent${sent.failure ? `: ${sent.failure}` : ''}`);

// The figures, by the same code as in `kperf-wasm report`.
const trace = await openTrace({ tree: true });
trace.push(await readFile('life.kperf'));
trace.end();
for (const { name, calls, share } of trace.report().functions.slice(0, 8)) {
    console.log(`${(100 * share).toFixed(1).padStart(5)} % ${String(calls).padStart(9)} ${name}`);
}
process.exitCode = code;
