// A trace tells for how long the process's threads ran on processors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecorder } from '../dist/node/index.js';
import { MemorySink } from './support/memory-sink.mjs';

/** The processor time of this process since a reading, in nanoseconds. */
const since = (began) => {
    const { user, system } = process.cpuUsage(began);
    return 1000 * (user + system);
};

test('the processor time of the whole process', async () => {
    const before = process.cpuUsage();
    const kperf = createRecorder({ sink: new MemorySink(), clock: 'precise', calibrate: false });
    const recording = process.cpuUsage();
    while (since(recording) < 5e6);
    const within = since(recording);
    const { cpu_nanos: told } = await kperf.finish();
    assert.equal(within <= told && told <= since(before), true, `${told}`);
});
