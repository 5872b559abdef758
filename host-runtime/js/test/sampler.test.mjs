// The sampler and resting instances.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SHADOW_STACK } from '../dist/common/constants.js';
import { switchBuffer, switchCounts } from '../dist/common/profile/counts.js';
import { CONTROL_BYTES, Profiled } from '../dist/common/profile/sampler.js';
import { parseSampling } from '../dist/common/profile/sampling.js';
import { parentCell } from '../dist/common/profile/parent-cell.js';
import { hasMultiMemory } from './support/cli.mjs';

const skip = !hasMultiMemory && 'this node gives a module one memory';
const MS = 1e6;

/** The first numbers of a window. */
function numbersOf(body) {
    let at = 0;
    const next = () => {
        for (let [value, shift] = [0, 1]; ; shift *= 128) {
            const byte = body[at++];
            value += (byte & 127) * shift;
            if (byte < 128) return value;
        }
    };
    const [start, length, period, spanMin, samples, torn, cut, idle] = Array.from({ length: 8 }, next);
    return { start, length, period, spanMin, samples, torn, cut, idle };
}

/** An instance with one function, and its sampler, which samples at given times. */
function sampled() {
    const memory = new WebAssembly.Memory({ initial: 17, maximum: 17, shared: true });
    const control = new SharedArrayBuffer(CONTROL_BYTES);
    const instance = {
        number: 0, memory, idBase: 0, functions: 1, begun: 0, control, switched: switchBuffer(1, 0, true),
        parent: parentCell(),
    };
    const windows = [];
    const take = { window: (_, body) => windows.push(numbersOf(body)), span() {}, parent() {}, ended() {} };
    const profiled = new Profiled(instance, parseSampling({}), take);
    const slots = new Int32Array(memory.buffer);
    return {
        instance,
        profiled,
        windows,
        sampleAt: (time) => profiled.sample(() => time),
        setOpen: (isOpen) => Atomics.store(slots, SHADOW_STACK / 4, isOpen ? 1 : 0),
    };
}

test('a call that is found after a rest has half of the time since the last look', { skip }, () => {
    const { profiled, windows, sampleAt, setOpen } = sampled();
    for (let n = 1; n <= 999; n++) sampleAt(0.1 * MS * n);
    assert.equal(profiled.isResting, false);
    sampleAt(100 * MS);
    assert.equal(profiled.isResting, true);
    // The sample that finds it, and one on time.
    setOpen(true);
    sampleAt(102 * MS);
    assert.equal(profiled.isResting, false);
    sampleAt(102.1 * MS);
    setOpen(false);
    sampleAt(102.2 * MS);
    sampleAt(202.1 * MS);
    assert.equal(profiled.isResting, true);
    profiled.close(0, 203 * MS);
    const [{ start, length, samples, torn, idle }] = windows;
    // It ended within 2 ms after the sample that found it, and gets all of these.
    assert.deepEqual(
        { start, length, samples, torn, idle },
        { start: 0, length: 203 * MS, samples: 1004, torn: 0, idle: 200.1 * MS },
    );
});

test('turns after a rest get their time on average, however long they are', { skip }, () => {
    // Turns at random moments, with samples every millisecond.
    for (const [turn, least, most] of [
        [0.1, 0.7, 1.3], [0.4, 0.85, 1.15], [1, 0.9, 1.25], [1.5, 0.9, 1.1], [5, 0.97, 1.05],
    ]) {
        const { profiled, windows, sampleAt, setOpen } = sampled();
        const turns = 1000;
        let [time, begins, random] = [0, 150, 1];
        for (let n = 0; n < turns; begins += 160 + turn + 10 * (random / 2 ** 32), n++) {
            random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
            for (; time < begins + turn + 0.5; time += profiled.isResting ? 1 : 0.1) {
                setOpen(time >= begins && time < begins + turn);
                sampleAt(time * MS);
            }
        }
        profiled.close(0, time * MS);
        assert.equal(windows.every(({ idle, length }) => idle >= 0 && idle <= length), true);
        const ran = windows.reduce((sum, { length, idle }) => sum + length - idle, 0) / MS;
        const part = ran / (turns * turn);
        assert.equal(part > least && part < most, true, `turns of ${turn} ms have ${part} of their time`);
    }
});

test('one that is switched off rests', { skip }, () => {
    const { instance, profiled, windows, sampleAt, setOpen } = sampled();
    setOpen(true);
    sampleAt(0.1 * MS);
    assert.equal(profiled.isResting, false);
    switchCounts(instance, 0.2 * MS);
    sampleAt(0.3 * MS);
    assert.equal(profiled.isResting, true);
    switchCounts(instance, 50 * MS);
    sampleAt(50.1 * MS);
    assert.equal(profiled.isResting, false);
    profiled.close(0, 51 * MS);
    assert.deepEqual(windows.map(({ samples, idle }) => [samples, idle]), [[1, 0], [1, 0]]);
});

test('the period where there is one processor', () => {
    const of = (options, processors) => {
        const { periodNanos, spanMinNanos } = parseSampling(options, processors);
        return [periodNanos / MS, spanMinNanos / MS];
    };
    assert.deepEqual([of({}, 2), of({}, 1)], [[0.1, 1], [1, 10]]);
    assert.deepEqual(
        [of({ spanMin: '5ms' }, 1), of({ spanMin: '200us' }, 1), of({ period: '200us' }, 1)],
        [[0.5, 5], [0.1, 0.2], [0.2, 2]],
    );
});
