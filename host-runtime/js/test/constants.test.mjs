// Constants and embedded modules, compared with guest-shim and kperf-trace.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as constants from '../dist/common/constants.js';
import * as wasm from '../dist/common/wasm-source.js';
import { ROOT } from './support/cli.mjs';

const rust = (path) => readFileSync(join(ROOT, path), 'utf8');

/** The constants of a Rust file, numbers and texts. */
function constantsOf(path) {
    const found = {};
    const all = [...rust(path).matchAll(/pub(?:\(crate\))? const (\w+): [^=]+ = ([^;]+);/g)];
    // A value may refer to constants that precede or follow it.
    for (const [, name, value] of [...all, ...all, ...all]) {
        const text = /^b?"(.*)"$/.exec(value)?.[1];
        const number = value
            .replace(/u32::MAX/, '0xffffffff')
            .replace(/\bas \w+/g, '')
            .replace(/\b[A-Z_]+\b/g, (name) => found[name]);
        found[name] = text ?? (/^[-+*/\s()\d_a-fx<]+$/.test(number) ? Number(eval(number)) : value);
    }
    return found;
}

test('words are those of the recorder', () => {
    const word = constantsOf('guest-shim/src/word.rs');
    for (const name of ['TIME', 'LEAVE', 'UNWIND', 'WIDE_TIME', 'SWITCH', 'MARK', 'WAIT', 'MAX_PAYLOAD']) {
        assert.equal(constants[name], word[name], name);
    }
});

test('reasons have the recorder\'s codes', () => {
    const body = /pub enum Reason \{(.*?)\n\}/s.exec(rust('guest-shim/src/word.rs'))[1];
    const reasons =
        Object.fromEntries([...body.matchAll(/(\w+) = (\d+),/g)].map(([, name, code]) => [name, Number(code)]));
    assert.deepEqual(constants.Reason, reasons);
});

test('a lane\'s memory is laid out as the recorder\'s', () => {
    const block = constantsOf('guest-shim/src/block.rs');
    for (const name of ['MEMORY_PAGES', 'CLOCK', 'LIMIT', 'POSITION', 'START', 'CAPACITY', 'STACKS', 'END_MARK']) {
        assert.equal(constants[name], block[name], name);
    }
    assert.equal(constants.BLOCK_HEADER, block.HEADER_LEN);
    assert.match(rust('guest-shim/src/recorder/recorder.wat'), new RegExp(`i32.load offset=${constants.SAVED_DEPTHS} `));
});

test('a profile\'s memory is laid out as its module has it', () => {
    const shadow = constantsOf('guest-shim/src/shadow.rs');
    const { SHADOW_STACK, SHADOW_COUNTS, SHADOW_LAST, SHADOW_SLOTS } = constants;
    assert.deepEqual(
        [SHADOW_STACK, SHADOW_COUNTS, SHADOW_LAST, SHADOW_SLOTS],
        [shadow.STACK, shadow.COUNTS, shadow.LAST, shadow.SLOTS],
    );
});

test('names are those of the ABI', () => {
    const names = constantsOf('guest-shim/src/names.rs');
    for (const name of ['MODULE', 'ENTER', 'SYMBOLS_SECTION', 'HOST_MODULE', 'HOST_FLUSH', 'EXPORT_PREFIX']) {
        assert.equal(constants[name], names[name]);
    }
    assert.deepEqual([names.LEAVE, names.UNWIND, names.CLOSE, names.DEPTH], ['leave', 'unwind', 'close', 'depth']);
    assert.deepEqual([names.SWITCH, names.MARK, names.FLUSH, names.MEMORY], ['switch', 'mark', 'flush', 'memory']);
    const state = ['DEPTH', 'STACK', 'LAST', 'HEAD', 'TOP', 'ID_BASE', 'FUNCTIONS'];
    assert.deepEqual(state.map((name) => names[`STATE_${name}`]), state.map((name) => `state.${name.toLowerCase()}`));
});

test('what modules with probes import and export has the names of the ABI', () => {
    const text = rust('guest-shim/src/names.rs');
    const names = constantsOf('guest-shim/src/names.rs');
    const body = /pub fn is_of_probes\(.*?\n\}/s.exec(text)[0];
    const told = (...constants) => [...body.matchAll(/\b[A-Z_]+\b/g)]
        .map(([name]) => name)
        .filter((name) => names[name] && constants.includes(name.startsWith('HOST_')) && !/MODULE/.test(name))
        .map((name) => names[name])
        .sort();
    assert.deepEqual([...constants.PROBES].sort(), told(false));
    assert.deepEqual([...constants.HOST_IMPORTS].sort(), told(true));
    // The probes themselves, and their templates, are not exported.
    const inner =
        ['ENTER', 'LEAVE', 'UNWIND', 'LEAF', 'ALLOCATING', 'ALLOCATED', 'GREW', 'CREATED'].map((name) => names[name]);
    const exported = new Set();
    for (const file of [
        'counts', 'profile', 'profile.spans', 'recorder.inline', 'recorder.inline.allocations', 'recorder.instructions',
        'recorder.instructions.allocations',
    ]) {
        const module = new WebAssembly.Module(readFileSync(join(ROOT, `guest-shim/src/recorder/${file}.wasm`)));
        for (const { name } of WebAssembly.Module.exports(module)) {
            if (!inner.includes(name) && !name.startsWith('inline.')) exported.add(`kperf.${name}`);
        }
    }
    assert.deepEqual([...constants.RECORDER_EXPORTS].sort(), [...exported].sort());
});

test('a trace begins as kperf-trace begins it', () => {
    const chunk = rust('host-runtime/trace/src/chunk.rs');
    assert.match(chunk, /MAGIC: \[u8; 6\] = \*b"KPERF\\0"/);
    assert.match(chunk, /MAJOR: u8 = 1;/);
    assert.match(chunk, /MINOR: u8 = 4;/);
    assert.match(chunk, /SYNC: \[u8; 4\] = \*b"\\xf5kpf"/);
    assert.equal(Buffer.from(constants.PREAMBLE).toString('latin1'), 'KPERF\0\x01\x04');
    assert.equal(Buffer.from(constants.SYNC).toString('latin1'), '\xf5kpf');
    assert.equal(constants.CHUNK_HEADER, constantsOf('host-runtime/trace/src/chunk.rs').HEADER_LEN);
});

test('the recorders are the very bytes of guest-shim, but for names', () => {
    const file = (name) => readFileSync(join(ROOT, name));
    for (const [name, own] of [['precise', wasm.RECORDER_PRECISE], ['ticker', wasm.RECORDER_TICKER]]) {
        const whole = file(`guest-shim/src/recorder/recorder.${name}.wasm`);
        // The name section is the last. It begins with the id 0, a length of two bytes, and its name.
        const names = '\x04name';
        const start = whole.lastIndexOf(names) - 3;
        assert.deepEqual(Buffer.from(own).subarray(0, start), whole.subarray(0, start), name);
        const [kept, all] = [own, whole].map((bytes) => Buffer.from(bytes).subarray(start + 3));
        assert.equal(kept.toString('latin1', 0, names.length), names);
        // The functions' names are unchanged.
        assert.deepEqual(kept, all.subarray(0, kept.length));
        assert.match(kept.toString('latin1'), /\x05enter.*\x05leave/s);
    }
    assert.deepEqual(Buffer.from(wasm.CALIBRATE), file('host-runtime/wasmtime/src/recorder/calibrate.wasm'));
    assert.deepEqual(
        Buffer.from(wasm.CALIBRATE_INLINE), file('host-runtime/wasmtime/src/recorder/calibrate.inline.wasm'),
    );
});
