// The queue to the writer's thread: no message is lost or waits forever, although threads are rarely woken.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { CAPACITY } from '../dist/common/constants.js';
import { Hub, Message } from '../dist/node/hub.js';

const MINUTE = 60_000;

/** Runs a script with the other end as `hub` in a thread, and returns its message. */
function otherEnd(hub, text) {
    const url = new URL('../dist/node/hub.js', import.meta.url);
    const code = `import('${url}').then(({ Hub, Message }) => {
        const { parentPort, workerData } = require('node:worker_threads');
        const hub = new Hub(workerData);
        ${text}
    });`;
    const worker = new Worker(code, { eval: true, workerData: hub.memory });
    return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}

const sleep = (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
const numbered = (n) => Uint8Array.of(n & 255, n >> 8);

test('senders that are further ahead than the queue is long wait, and all comes in the order of each', async () => {
    const hub = new Hub();
    const [SENDERS, COUNT] = [3, 1000];
    const senders = Array.from({ length: SENDERS }, (_, number) => otherEnd(hub, `
        for (let n = 0; n < ${COUNT}; n++) hub.send(Message.Block, ${number}, Uint8Array.of(n & 255, n >> 8));
        parentPort.postMessage(hub.stalls);`));
    const next = new Array(SENDERS).fill(0);
    const deadline = performance.now() + MINUTE;
    for (let n = 0; n < SENDERS * COUNT; n++) {
        let received;
        while (!(received = hub.receive(10))) assert.equal(performance.now() < deadline, true, `${n} came`);
        const { recorder, bytes, ...others } = received;
        assert.deepEqual(
            { ...others, bytes: [...bytes] },
            { kind: Message.Block, first: true, more: false, bytes: [...numbered(next[recorder]++)] },
        );
        // The first message stays received until the queue is full.
        while (n === 0 && !isFull(hub)) {
            assert.equal(performance.now() < deadline, true, 'the queue is not full');
            sleep(1);
        }
        hub.done();
    }
    assert.equal(hub.receive(0), undefined);
    const { count, nanos } = (await Promise.all(senders)).at(-1);
    // A writer that is not woken looks after a second.
    assert.equal(count > 0 && nanos / count < 0.5e9, true, `${nanos} ns in ${count} stalls`);
});

test('blocks that are too few to wake the writer are there when it looks', () => {
    const hub = new Hub();
    for (let n = 0; n < 3; n++) hub.send(Message.Block, 0, numbered(n));
    for (let n = 0; n < 3; n++) {
        assert.equal(hub.receive(0).bytes[0], n);
        hub.done();
    }
    assert.equal(hub.receive(1), undefined);
});

test('many blocks wake the writer, and one message of another kind', async () => {
    for (const [kind, count] of [[Message.Block, 16], [Message.Finish, 1]]) {
        const hub = new Hub();
        const receiver = otherEnd(hub, `
            hub.listen();
            const begin = performance.now();
            const received = hub.receive(${MINUTE});
            parentPort.postMessage({ kind: received?.kind, woken: performance.now() - begin < ${MINUTE / 2} });`);
        hub.waitForWriter(MINUTE);
        // By then it waits.
        sleep(200);
        for (let n = 0; n < count; n++) hub.send(kind, 0, numbered(n));
        assert.deepEqual(await receiver, { kind, woken: true });
    }
});

test('a block of a memory that was told comes as it is', () => {
    const hub = new Hub();
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 2, shared: true });
    hub.adopt(memory);
    const block = new Uint8Array(memory.buffer, 4096);
    for (let n = 0; n < block.length; n++) block[n] = (n * n) >> 3;
    for (const length of [block.length, 0, 20]) hub.send(Message.Block, 1, block.subarray(block.length - length));
    for (const length of [block.length, 0, 20]) {
        assert.equal(Buffer.compare(hub.receive(0).bytes, block.subarray(block.length - length)), 0);
        hub.done();
    }
});

test('a message in parts says where it begins and ends', () => {
    const hub = new Hub();
    for (const parts of [3, 1]) hub.send(Message.Symbols, 0, new Uint8Array(parts * CAPACITY));
    const received = Array.from({ length: 4 }, () => {
        const { first, more } = hub.receive(0);
        hub.done();
        return [first, more];
    });
    assert.deepEqual(received, [[true, true], [false, true], [false, false], [true, false]]);
});

/**
 * Whether as many messages wait as there is room for: words 1 and 2 count those that were sent, and those that are done
 * with.
 */
function isFull(hub) {
    const [, head, tail] = new Int32Array(hub.memory.buffer, 0, 3);
    return head - tail === 256;
}
