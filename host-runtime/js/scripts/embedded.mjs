// Embedded WebAssembly modules, as the text of src/common/wasm-source.ts.
import { readFileSync } from 'node:fs';
import wabt from 'wabt';

const here = new URL('..', import.meta.url);
const read = (path) => readFileSync(new URL(path, here));
const { parseWat } = await wabt();
const assemble = (name, text) => {
    const features = { threads: true, tail_call: true, multi_memory: true, mutable_globals: true };
    const module = parseWat(name, text, features);
    try {
        return Buffer.from(module.toBinary({}).buffer);
    } finally {
        module.destroy();
    }
};
const own = (name) => assemble(name, read(`wat/${name}`).toString());

/** A recorder of guest-shim in these forms. wabt has no branch hints. */
function recorder(file, ...wanted) {
    // For each open `#if`, whether its lines are kept.
    const keep = [];
    const lines = [];
    const source = read(`../../guest-shim/src/recorder/${file}`).toString();
    for (const line of source.replace(/;; #include (.*)/g, (_, part) => read(`../../guest-shim/src/recorder/${part}`).toString()).split('\n')) {
        const [, forms] = /^\s*;; #if (.*)$/.exec(line) ?? [];
        if (forms !== undefined) keep.push(forms.split(' ').some((form) => wanted.includes(form)));
        else if (line.trim() === ';; #else') keep.push(!keep.pop());
        else if (line.trim() === ';; #end') keep.pop();
        else if (keep.every((kept) => kept)) lines.push(line.replace(/\(@.*?\) /, ''));
    }
    return lines;
}

/** The ticker's recorder with the clock in the lane's memory, at address 0. */
function oneMemory() {
    const lines = recorder('recorder.wat', 'ticker', 'allocations').filter((line) => !line.includes('"kperf:host" "clock"'));
    // Abbreviations of guest-shim/src/recorder.
    const own = { '(time.get)': '(call $host_now)', '(position.get)': '(i32.load (i32.const 64))', '(position.set': '(i32.store (i32.const 64)', '(depth.get)': '(global.get $depth)', '(depth.set': '(global.set $depth', 'word.store': 'i32.store', 'i64.load $clock': 'i64.load' };
    const text = Object.entries(own).reduce((text, [from, to]) => text.replaceAll(from, to), lines.join('\n'));
    return assemble('recorder.wat', text);
}

/** The recorder of a component's profile, with a memory that the sampler's thread reads. */
function shadow() {
    const text = recorder('profile.wat', 'component').join('\n');
    const shared = text.replace('(memory $shadow 17)', '(memory $shadow 17 65536 shared)');
    if (shared === text) throw new Error('profile.wat has another memory');
    return assemble('profile.wat', shared);
}

/** A recorder with only the names that stacks show: its own and its functions'. The section of names is the last. */
function withShownNames(wasm) {
    const section = wasm.lastIndexOf('\x04name') - 3;
    let end = section + 8;
    while (wasm[end] <= 1) {
        const { length, size } = number(wasm, end + 1);
        end += 1 + size + length;
    }
    const content = wasm.subarray(section + 3, end);
    // The length has two bytes.
    return Buffer.concat([wasm.subarray(0, section + 1), Buffer.from([content.length % 128 | 128, content.length >> 7]), content]);
}

/** Reads a LEB128 number. */
function number(wasm, at) {
    let [length, size] = [0, 0];
    do length |= (wasm[at + size] & 127) << (7 * size);
    while (wasm[at + size++] >= 128);
    return { length, size };
}

const modules = {
    RECORDER_PRECISE: ['The recorder, guest-shim/src/recorder/recorder.precise.wasm.', withShownNames(read('../../guest-shim/src/recorder/recorder.precise.wasm'))],
    RECORDER_TICKER: ['The recorder, guest-shim/src/recorder/recorder.ticker.wasm.', withShownNames(read('../../guest-shim/src/recorder/recorder.ticker.wasm'))],
    RECORDER_ONE_MEMORY: ['The ticker\'s recorder for engines without multi-memory.', oneMemory()],
    SHADOW: ['The recorder of profiles with imported probes, guest-shim/src/recorder/profile.wat.', shadow()],
    CALIBRATE: ['The calibration, host-runtime/wasmtime/src/recorder/calibrate.wasm.', read('../wasmtime/src/recorder/calibrate.wasm')],
    CALIBRATE_INLINE: ['The same with an inlined recorder, calibrate.inline.wasm.', read('../wasmtime/src/recorder/calibrate.inline.wasm')],
    CLOCK: ['wat/clock.wat.', own('clock.wat')],
    COUNTER: ['wat/counter.wat.', own('counter.wat')],
    TICKER: ['wat/ticker.wat.', own('ticker.wat')],
    CELL: ['wat/cell.wat.', own('cell.wat')],
    LOOK: ['wat/look.wat.', own('look.wat')],
    END: ['wat/end.wat.', own('end.wat')],
    CLEAR: ['wat/clear.wat.', own('clear.wat')],
    COPY: ['wat/copy.wat.', own('copy.wat')],
};

const declarations = Object.entries(modules).map(([name, [doc, wasm]]) => `
/** ${doc} ${wasm.length} bytes. */
export const ${name} = /* @__PURE__ */ bytes('${wasm.toString('base64')}');
`);

export const text = `/** Embedded modules, from guest-shim/ and wat/. */

function bytes(base64: string): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
${declarations.join('')}`;
