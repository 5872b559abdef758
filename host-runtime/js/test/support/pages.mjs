// Scripts for pages and workers.

/** Runs the Game of Life under WASI, and returns a promise of its output. For module scripts. */
export const LIFE = `
    import { WASI, File, OpenFile, ConsoleStdout } from '/wasi/index.js';
    async function life(steps, recorder = WebAssembly, url = '/life.wasm') {
        let text = '';
        const out = ConsoleStdout.lineBuffered((line) => (text += line));
        const wasi = new WASI(['life', String(steps)], [], [new OpenFile(new File([])), out, out]);
        const module = await WebAssembly.compileStreaming(fetch(url));
        const made = await recorder.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport });
        const instance = made.instance ?? made;
        wasi.start(instance);
        return text;
    }
    /** Bytes in a form that a page can return. */
    async function encoded(blob) {
        return Array.from(new Uint8Array(await blob.arrayBuffer()));
    }`;

/** A page whose module script sets `result`. */
export function page(script, head = '') {
    return `<!doctype html><title>test</title>${head}<script type="module">${LIFE}\n${script}</script>`;
}

/** A page whose `result` is a module worker's message. */
export function inWorker(script, head = '') {
    const answer = 'globalThis.result.then(postMessage, (error) => postMessage({ error: String(error.stack) }));';
    const files = { '/worker.js': `${LIFE}\n${script}\n${answer}` };
    files['/'] = page(`
        globalThis.result = new Promise((resolve, reject) => {
            const worker = new Worker('/worker.js', { type: 'module' });
            worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
            worker.onerror = (event) => reject(new Error(event.message));
        });`, head);
    return files;
}
