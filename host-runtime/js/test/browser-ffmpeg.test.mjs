// A published threaded program in an isolated page: ffmpeg encodes a second of video, in a worker with a pool of 32
// threads. The page and its workers make one trace with one ticker, or one profile with one sampler. Fetches 20 MB from
// npm into the user's cache.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launch, open } from './support/chromium.mjs';
import { folder, kperf } from './support/cli.mjs';
import { start } from './support/serve.mjs';
import { serve } from './support/server.mjs';

const PACKAGE = '@ffmpeg/core-mt@0.12.10';
/** The package's `dist.integrity`. */
const SHA512 = 'atyRTOpa58bLCIgd6GXBZAXWyWD3AUoQyzxqjvGhp9MuSzdILtOTI62ffLswBsCnLq15lQ8IETHUpm1oe4V9FQ==';
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kperf-wasm');
const FILES = ['ffmpeg-core.js', 'ffmpeg-core.wasm', 'ffmpeg-core.worker.js'];

/** The folder of the package's files. */
function fetched() {
    const kept = join(CACHE, PACKAGE.replace('/', '-'));
    if (!existsSync(kept)) {
        mkdirSync(CACHE, { recursive: true });
        const fresh = mkdtempSync(join(CACHE, 'ffmpeg-'));
        const packed = execFileSync('npm', ['pack', '--silent', PACKAGE], { cwd: fresh, encoding: 'utf8' }).trim();
        assert.equal(createHash('sha512').update(readFileSync(join(fresh, packed))).digest('base64'), SHA512);
        execFileSync('tar', ['xzf', packed], { cwd: fresh });
        rmSync(join(fresh, packed));
        renameSync(fresh, kept);
    }
    return join(kept, 'package/dist/umd');
}

const JOB = `
    importScripts('/ffmpeg-core.js');
    onmessage = async () => {
        const at = (file) => location.origin + '/ffmpeg-core.' + file;
        const [wasmURL, workerURL] = [at('wasm'), at('worker.js')];
        const begun = performance.now();
        const own = at('js#') + btoa(JSON.stringify({ wasmURL, workerURL }));
        const core = await createFFmpegCore({ mainScriptUrlOrBlob: own });
        const loaded = performance.now();
        const video = ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=320x240:rate=25'];
        const status = core.exec(...video, '-c:v', 'libx264', '-threads', '4', 'out.mp4');
        const time = performance.now() - loaded;
        postMessage({ status, bytes: core.FS.readFile('out.mp4').length, load: loaded - begun, time });
    };`;
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script>
    globalThis.result = new Promise((resolve, reject) => {
        const worker = new Worker('/job.js');
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(0);
    });</script>`;
const work = folder();
const packaged = fetched();
const app = { '/job.js': JOB, '/index.html': PAGE };
for (const file of FILES) app[`/${file}`] = readFileSync(join(packaged, file));
for (const [path, content] of Object.entries(app)) writeFileSync(join(work, path), content);
const browser = await launch();
after(() => browser.close());

const site = await serve({ ...app, '/': PAGE }, { isolated: true });
const { page, result: plain } = await open(browser, site.url, /./);
await page.close();
await site.close();

for (const record of ['trace', 'profile']) {
    test(`a ${record} of ffmpeg and its threads`, async (t) => {
        const server = await start(folder(), work, '--record', record);
        const { page, result } = await open(browser, server.url, /./);
        assert.deepEqual([result.status, result.bytes], [plain.status, plain.bytes]);
        assert.equal(result.status, 0);
        const workers = page.workers();
        assert.ok(workers.length > 32, `${workers.length}`);
        // The recorder's are blobs.
        assert.equal(workers.filter((worker) => worker.url().startsWith('blob:')).length, 1);
        await server.untilReported(([{ calls }]) => calls > 1e6);
        await page.close();
        await server.until(/^# trace: /m);
        const trace = /^# trace: (.*)$/m.exec((await server.end()).stdout)[1];
        const [found, ...others] = server.reports();
        assert.deepEqual(others, []);
        const lanes = Number(/^lanes +(\d+)/m.exec(kperf('info', trace))[1]);
        // The pool's idle threads have begun, too.
        assert.ok(lanes >= 5, `${lanes}`);
        const seconds = (time) => `${(time / 1000).toFixed(2)} s`;
        const times = ({ time, load }) => `${seconds(time)}, and ${seconds(load)} to load`;
        t.diagnostic(`${found.calls} calls in ${lanes} lanes: ${times(result)}; plain ${times(plain)}`);
    });
}
