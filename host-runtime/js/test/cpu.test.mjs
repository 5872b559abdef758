// Processor times in a trace.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
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

test('what others took from the thread', { skip: process.platform !== 'linux' && 'Linux tells' }, async () => {
    const others = Array.from(
        { length: 3 * availableParallelism() }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
    );
    try {
        await new Promise((resolve) => setTimeout(resolve, 500));
        const kperf = createRecorder({ sink: new MemorySink(), clock: 'precise', calibrate: false });
        const recording = process.cpuUsage();
        while (since(recording) < 100e6);
        const { preempted } = await kperf.finish();
        // One of four threads on a processor runs.
        assert.equal(
            preempted.threads === 1 && preempted.count > 0 && preempted.nanos > 50e6, true, JSON.stringify(preempted),
        );
    } finally {
        for (const other of others) other.kill('SIGKILL');
    }
});
