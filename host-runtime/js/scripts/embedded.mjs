// The WebAssembly modules of the package, as the text of a TypeScript file.
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

/** The ticker's form of the recorder with the clock in the lane's own memory, at address 0. */
function oneMemory() {
    // Of each `#if` that is open whether its lines are kept.
    const keep = [];
    const lines = [];
    const source = read('../../guest-shim/recorder.wat').toString();
    for (const line of source.replace(/;; #include (.*)/g, (_, part) => read(`../../guest-shim/${part}`).toString()).split('\n')) {
        const [, forms] = /^\s*;; #if (.*)$/.exec(line) ?? [];
        if (forms !== undefined) keep.push(forms.split(' ').some((form) => ['ticker', 'allocations'].includes(form)));
        else if (line.trim() === ';; #else') keep.push(!keep.pop());
        else if (line.trim() === ';; #end') keep.pop();
        else if (keep.every((kept) => kept) && !line.includes('"kperf:host" "clock"')) lines.push(line.replace(/\(@.*?\) /, ''));
    }
    // The abbreviations are those of guest-shim/src/recorder.rs. wabt knows no branch hints.
    const own = { '(time.get)': '(call $host_now)', '(position.get)': '(i32.load (i32.const 64))', '(position.set': '(i32.store (i32.const 64)', '(depth.get)': '(global.get $depth)', '(depth.set': '(global.set $depth', 'word.store': 'i32.store', 'i64.load $clock': 'i64.load' };
    const text = Object.entries(own).reduce((text, [from, to]) => text.replaceAll(from, to), lines.join('\n'));
    return assemble('recorder.wat', text);
}

/** Where the bytes begin and end whose length stands at `at`. */
function sized(wasm, at) {
    let [length, start] = [0, at];
    for (let shift = 0, byte = 128; byte >= 128; shift += 7) {
        byte = wasm[start++];
        length |= (byte & 127) << shift;
    }
    return { start, end: start + length };
}

/** The subsections of names that tools show in stacks: those of the module and of its functions. */
const SHOWN_NAMES = [0, 1];

/** A module without names that no stack shows: a page loads these bytes before anything else. */
function withoutOtherNames(wasm) {
    let at = 8;
    const parts = [wasm.subarray(0, at)];
    while (at < wasm.length) {
        const section = sized(wasm, at + 1);
        const name = sized(wasm, section.start);
        if (wasm[at] === 0 && wasm.toString('latin1', name.start, name.end) === 'name') {
            const kept = [wasm.subarray(section.start, name.end)];
            for (let next, from = name.end; from < section.end; from = next) {
                next = sized(wasm, from + 1).end;
                if (SHOWN_NAMES.includes(wasm[from])) kept.push(wasm.subarray(from, next));
            }
            const content = Buffer.concat(kept);
            // A length of up to 14 bits.
            parts.push(Buffer.from([0, content.length % 128 | 128, content.length >> 7]), content);
        } else {
            parts.push(wasm.subarray(at, section.end));
        }
        at = section.end;
    }
    return Buffer.concat(parts);
}

const modules = {
    RECORDER_PRECISE: ['The recorder, guest-shim/recorder.precise.wasm.', withoutOtherNames(read('../../guest-shim/recorder.precise.wasm'))],
    RECORDER_TICKER: ['The recorder, guest-shim/recorder.ticker.wasm.', withoutOtherNames(read('../../guest-shim/recorder.ticker.wasm'))],
    RECORDER_ONE_MEMORY: ['The ticker\'s recorder with the clock in its own memory, for engines without multi-memory.', oneMemory()],
    CALIBRATE: ['The calibration, host-runtime/wasmtime/src/recorder/calibrate.wasm.', read('../wasmtime/src/recorder/calibrate.wasm')],
    CALIBRATE_INLINE: ['The same with the recorder inside, calibrate.inline.wasm.', read('../wasmtime/src/recorder/calibrate.inline.wasm')],
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
