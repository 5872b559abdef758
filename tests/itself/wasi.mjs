// wasi.mjs MODULE FOLDER [ARGS]: runs a command of WASI in Node.js. FOLDER is its folder; `-` is none. With FULL=half the disk is full after
// half of the first write to a file, with FULL=slow it takes a byte at a time (FULL=trickle: and so does stderr), with FULL=other another program appends to `m.kperf`.
import { WASI } from 'node:wasi';
import { appendFileSync, readFileSync } from 'node:fs';

const [module, folder, ...args] = process.argv.slice(2);
const preopens = folder === '-' ? {} : { '/': folder };
const wasi = new WASI({ version: 'preview1', args: [module, ...args], env: process.env, preopens });
const imports = wasi.getImportObject();
const { fd_write } = imports.wasi_snapshot_preview1;
const { FULL } = process.env;
const ENOSPC = 51;
let writes = 0;
imports.wasi_snapshot_preview1.fd_write = (fd, at, count, written) => {
    if ((fd < 3 && !(fd === 2 && FULL === 'trickle')) || !FULL) return fd_write(fd, at, count, written);
    if (FULL === 'half' && writes++ > 0) return ENOSPC;
    if (FULL === 'other') {
        const error = fd_write(fd, at, count, written);
        appendFileSync('m.kperf', 'x');
        return error;
    }
    const memory = new DataView(instance.exports.memory.buffer);
    const length = memory.getUint32(at + 4, true);
    memory.setUint32(at + 4, FULL === 'half' ? length / 2 : 1, true);
    return fd_write(fd, at, count, written);
};
const { instance } = await WebAssembly.instantiate(readFileSync(module), imports);
process.exitCode = wasi.start(instance);
