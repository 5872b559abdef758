// A page that plays the Game of Life in rounds, shows where the time goes meanwhile, and sends spans to a Collector.
import { ConsoleStdout, File, OpenFile, WASI } from '@bjorn3/browser_wasi_shim';
import { coreModule, createRecorder, MemorySink, openTrace, OtlpSink } from 'kperf-wasm';
import { draw } from './flame.js';

const ROUNDS = 20;
const element = (id) => document.getElementById(id);
/** The Collector that serve.mjs was told of. */
const endpoint = document.querySelector('meta[name=collector]')?.content;

async function run(language) {
    const [file, live] = [new MemorySink(), await openTrace({ tree: true })];
    // Four million calls are more than one would send: those that took 20 us.
    const spans = { service_name: `life in ${language}`, min_nanos: 20_000 };
    const otlp = endpoint && new OtlpSink(coreModule(), { endpoint, giveUpAfter: 10_000, spans });
    // A sink is anything that takes chunks: this one keeps them, counts what is in them, and makes spans of them.
    const sink = {
        chunk(bytes) {
            file.chunk(bytes);
            live.push(bytes);
            if (otlp) otlp.chunk(bytes);
        },
        close: () => otlp?.close(),
    };
    const kperf = createRecorder({ sink });
    await kperf.ready;
    const module = await WebAssembly.compileStreaming(fetch(`${language}.wasm`));
    let line = '';
    let calls = 0;
    for (let round = 1; round <= ROUNDS; round++) {
        const out = ConsoleStdout.lineBuffered((text) => (line = text));
        const wasi = new WASI(['life', '50'], [], [new OpenFile(new File([])), out, out]);
        const imports = kperf.imports({ wasi_snapshot_preview1: wasi.wasiImport }, module);
        const instance = await WebAssembly.instantiate(module, imports);
        kperf.span('round', () => wasi.start(instance));
        kperf.flush();
        draw(element('flame'), live.tree());
        ({ calls } = live.report());
        element('status').textContent = `${language}, round ${round}: ${line}; ${calls.toLocaleString()} calls`;
        await new Promise(requestAnimationFrame);
    }
    element('download').hidden = false;
    element('download').onclick = () => file.download(`life.${language}.kperf`);
    await kperf.finish();
    const sent = otlp ? otlp.exporter.delivery.acknowledged : 0;
    if (otlp) element('status').textContent += `; ${sent.toLocaleString()} spans sent`;
    return { calls, text: line, sent };
}

for (const button of document.querySelectorAll('button')) {
    button.onclick = () => {
        globalThis.result = run(button.value);
        globalThis.result.catch((error) => (element('status').textContent = error.message));
    };
}
