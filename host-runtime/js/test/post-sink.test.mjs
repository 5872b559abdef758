// Posts of parts of a trace, while the page runs and when it is closed, with an artificial clock and server.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { PostSink } from '../dist/browser/post-sink.js';

/** Lets promises continue. There is no `CompressionStream`, which works in its own thread. */
const rest = async () => {
    for (let n = 0; n < 50; n++) await null;
};

/** A sink, its posts, and functions that respond to them. */
function posting() {
    mock.timers.enable({ apis: ['setTimeout'] });
    const posts = [];
    const { fetch, CompressionStream } = globalThis;
    globalThis.CompressionStream = undefined;
    globalThis.fetch = (url, { headers, body, keepalive }) => new Promise((resolve) => {
        const { 'kperf-part': part, 'kperf-unsent': unsent } = headers;
        const answer = (status = 200) => resolve(new Response(null, { status }));
        const isLast = 'kperf-last' in headers;
        posts.push({ part: Number(part), isLast, unsent, bytes: body.size, keepalive, answer });
    });
    return {
        sink: new PostSink('http://here/traces'),
        posts,
        pass: async (milliseconds) => {
            mock.timers.tick(milliseconds);
            await rest();
        },
        end() {
            Object.assign(globalThis, { fetch, CompressionStream });
            mock.timers.reset();
        },
    };
}

/** `PART: BYTES, last, kept alive` of each. */
const shown = (posts) => posts.map(({ part, bytes, isLast, keepalive }) =>
    [`${part}: ${bytes}`, ...(isLast ? ['last'] : []), ...(keepalive ? ['kept alive'] : [])].join(', '));

test('the first part is small, so that it comes even if the page goes at once', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(100));
    for (let n = 0; n < 3; n++) sink.chunk(new Uint8Array(1_000_000));
    await pass(0);
    assert.deepEqual(shown(posts), ['0: 100']);
    sink.leave();
    assert.deepEqual(shown(posts), ['0: 100', '0: 100, kept alive']);
    end();
});

test('the first part goes at once, later ones soon, and what comes meanwhile goes together', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(10));
    sink.chunk(new Uint8Array(20));
    await pass(0);
    assert.deepEqual(shown(posts), ['0: 30']);
    for (let n = 0; n < 5; n++) sink.chunk(new Uint8Array(100));
    await pass(1000);
    assert.deepEqual(shown(posts), ['0: 30']);
    posts[0].answer();
    await rest();
    await pass(20);
    assert.deepEqual(shown(posts), ['0: 30', '1: 500']);
    posts[1].answer();
    await rest();
    sink.chunk(new Uint8Array(1));
    await pass(20);
    posts[2].answer();
    await rest();
    sink.chunk(new Uint8Array(2));
    const closed = sink.close();
    await rest();
    posts[3].answer();
    await closed;
    assert.deepEqual(shown(posts).slice(2), ['2: 1', '3: 2, last']);
    end();
});

test('a part that fails is tried again, and much goes in several parts', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(1));
    await pass(0);
    posts[0].answer(503);
    await rest();
    for (let n = 0; n < 3; n++) sink.chunk(new Uint8Array(9_000_000));
    await pass(500);
    posts[1].answer();
    await rest();
    const closed = sink.close();
    for (let n = 2; n < 5; n++) {
        await rest();
        posts[n].answer();
    }
    await closed;
    assert.deepEqual(shown(posts), ['0: 1', '0: 1', '1: 9000000', '2: 9000000', '3: 9000000, last']);
    end();
});

test('a page that goes sends what browsers promise to send, and the rest too, in order', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(10_000));
    await pass(0);
    // It gets no response any more.
    sink.leave();
    for (const length of [40_000, 30_000, 5_000]) sink.chunk(new Uint8Array(length));
    sink.chunk(new Uint8Array(100));
    void sink.close();
    await rest();
    const parts = ['1: 40000, kept alive', '2: 30000', '3: 5100, last, kept alive'];
    assert.deepEqual(shown(posts), ['0: 10000', '0: 10000, kept alive', ...parts]);
    assert.equal(posts[4].unsent, '30000');
    end();
});

test('a page that goes is held for what browsers may drop, half a second at most', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(10));
    await pass(0);
    posts[0].answer();
    await rest();
    sink.leave();
    for (let n = 0; n < 40; n++) sink.chunk(new Uint8Array(200_000));
    sink.chunk(new Uint8Array(100));
    const begun = performance.now();
    void sink.close();
    const held = performance.now() - begun;
    await rest();
    const large = Array.from({ length: 8 }, (_, n) => `${n + 1}: 1000000`);
    assert.deepEqual(shown(posts).slice(1), [...large, '9: 100, last, kept alive']);
    assert.equal(posts.at(-1).unsent, '8000000');
    assert.ok(held >= 300 && held < 500, `${held} ms`);
    end();
});

test('a part that is too large leaves room for the end', async () => {
    const { sink, posts, pass, end } = posting();
    sink.chunk(new Uint8Array(70_000));
    await pass(0);
    sink.leave();
    sink.chunk(new Uint8Array(100));
    void sink.close();
    await rest();
    assert.deepEqual(shown(posts), ['0: 70000', '0: 70000', '1: 100, last, kept alive']);
    assert.equal(posts[2].unsent, '70000');
    end();
});

test('a trace that is refused says why while the page runs', async () => {
    const { sink, posts, pass, end } = posting();
    assert.equal(sink.trouble, undefined);
    sink.chunk(new Uint8Array(10));
    await pass(0);
    posts[0].answer(404);
    await rest();
    assert.equal(sink.trouble, "the trace can't be posted to http://here/traces: it answers 404");
    assert.throws(() => sink.chunk(new Uint8Array(10)));
    end();
});
