// The published programs under node, as real.rs has them under wasmtime.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What a program writes goes to memory, where there is a file system in it.
const out = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'kperf-moobench-'));
process.on('exit', () => rmSync(out, { recursive: true }));

/** What WASI has for a program. */
export const settings = ({ arguments: args, folder }) => ({ args, preopens: { '/in': folder, '/out': out } });

/** Adds functions that answer 0, whatever their type, for what a module wants of its host and doesn't come to use. */
export function complete(imports, module) {
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
        if (kind === 'function' && !from.startsWith('kperf')) (imports[from] ??= {})[name] ??= () => false;
    }
}

/** Makes everything ready; answers what is to be timed, which answers 0. */
export function prepare({ name, folder }, { exports }, start) {
    const view = () => new DataView(exports.memory.buffer);
    const text = (value) => {
        const bytes = new TextEncoder().encode(`${value}\0`);
        const at = exports.malloc(bytes.length);
        new Uint8Array(exports.memory.buffer).set(bytes, at);
        return at;
    };
    switch (name) {
        case 'Sqlite': {
            const sql = text(readFileSync(join(folder, 'work.sql'), 'utf8'));
            const [file, handle] = [text(':memory:'), text('1234')];
            // In memory, to be read and written and made.
            const opened = exports.sqlite3_open_v2(file, handle, 0x86, 0);
            if (opened !== 0) throw new Error(`SQLite's error ${opened} for a new database`);
            const database = view().getUint32(handle, true);
            return () => exports.sqlite3_exec(database, sql, 0, 0, 0);
        }
        case 'QuickJs': {
            const words = ['qjs', '/in/work.js'].map(text);
            const list = text('12345678');
            words.forEach((word, n) => view().setUint32(list + 4 * n, word, true));
            return () => exports.qjs_init_argv(words.length, list);
        }
        case 'Usvg':
        case 'Circom':
            return start;
        default:
            return () => exports.itk_wasm_delayed_start();
    }
}
