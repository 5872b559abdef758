// A page that plays the Game of Life in rounds, and shows where the time goes meanwhile.
import { ConsoleStdout, File, OpenFile, WASI } from '@bjorn3/browser_wasi_shim';
import { createRecorder, MemorySink } from 'kperf-wasm';
import { CallTree } from './call-tree.js';
import { draw } from './flame.js';

const ROUNDS = 20;
const element = (id) => document.getElementById(id);

async function run(language) {
    const tree = new CallTree();
    const file = new MemorySink();
    // A sink is anything that takes chunks: this one keeps them, and counts what is in them.
    const sink = { chunk: (bytes) => (tree.chunk(bytes), file.chunk(bytes)), close: () => file.close() };
    const kperf = createRecorder({ sink });
    await kperf.ready;
    const module = await WebAssembly.compileStreaming(fetch(`${language}.wasm`));
    let line = '';
    for (let round = 1; round <= ROUNDS; round++) {
        const out = ConsoleStdout.lineBuffered((text) => (line = text));
        const wasi = new WASI(['life', '50'], [], [new OpenFile(new File([])), out, out]);
        const imports = kperf.imports({ wasi_snapshot_preview1: wasi.wasiImport }, module);
        const instance = await WebAssembly.instantiate(module, imports);
        kperf.span('round', () => wasi.start(instance));
        kperf.flush();
        draw(element('flame'), tree);
        element('status').textContent = `${language}, round ${round}: ${line}; ${tree.calls.toLocaleString()} calls`;
        await new Promise(requestAnimationFrame);
    }
    await kperf.finish();
    element('download').hidden = false;
    element('download').onclick = () => file.download(`life.${language}.kperf`);
    return { calls: tree.calls, text: line };
}

for (const button of document.querySelectorAll('button')) {
    button.onclick = () => (globalThis.result = run(button.value));
}
