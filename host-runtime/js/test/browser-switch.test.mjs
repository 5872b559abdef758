// Switching recording off and on in pages, isolated or not, and in workers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf, probed } from './support/cli.mjs';
import { inWorker, page } from './support/pages.mjs';
import { serve } from './support/server.mjs';

const work = folder();
const WAYS = { import: ['--probe', 'import'], inline: ['--probe', 'inline'], profile: ['--record', 'profile'] };
const browser = await launch();
after(() => browser.close());

/** Many switches, because the ticker writes the time concurrently; some before our workers have begun. */
const SWITCHES = `
    async function switches(kperf) {
        kperf.setRecording(false);
        const { instance } = await WebAssembly.instantiateStreaming(fetch('/calls.wasm'), { host: { call() {} } });
        const { descend, leaf } = instance.exports;
        for (let n = 0; n < 300; n++) {
            leaf();
            descend(499);
            kperf.setRecording(true);
            descend(99);
            kperf.setRecording(false);
            if (n % 16 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        }
        leaf();
    }`;
const RESULT = `${SWITCHES}
    globalThis.result = (async () => {
        await switches(kperf);
        const { events } = await kperf.finish();
        return { events, trace: await encoded(kperf.blob()) };
    })();`;
/** Without slow calls: preemption makes any open call slow. */
const CONFIG = `globalThis.kperfConfig = { sampling: { spanMin: 'off' } };`;
const HEAD = '<script src="/config.js"></script><script src="/dist/kperf.js"></script>';

for (const [way, options] of Object.entries(WAYS)) {
    for (const isolated of way === 'profile' ? [true] : [true, false]) {
        test(`${way}, ${isolated ? 'isolated' : 'not isolated'}, in a page and in a worker`, async () => {
            const calls = probed('test/programs/calls.wat', join(work, 'calls.wasm'), ...options);
            const worker = inWorker(RESULT);
            worker['/worker.js'] = `import '/config.js'; import '/dist/browser/register.js';\n${worker['/worker.js']}`;
            for (const files of [{ '/': page(RESULT, HEAD) }, worker]) {
                const server = await serve({ '/calls.wasm': calls, '/config.js': CONFIG, ...files }, { isolated });
                try {
                    const { result } = await open(browser, server.url);
                    const path = join(work, 'page.kperf');
                    writeFileSync(path, Buffer.from(result.trace));
                    const { functions } = JSON.parse(kperf('report', path, '--format', 'json'));
                    assert.deepEqual(functions.map(({ name, calls }) => [name, calls]), [['descend', 30_000]]);
                    assert.equal(result.events, way === 'profile' ? 0 : 60_000);
                } finally {
                    await server.close();
                }
            }
        });
    }
}
