// The cost of recording per call, compared with lower bounds: `npm run bench` (node), `npm run bench -- chromium`.
//
// The workload is the Game of Life of examples/, 2.0 M calls. Configurations run in turn, so that a machine's changing speed affects
// all, and each checks its number of events. Lower bounds:
//
//   F_noop   the probes call JavaScript functions that do nothing
//   F_clock  two readings of performance.now(), in a loop of their own
//
// Goals (per call, until the guest returns): precise at most 1.2 x (F_noop + F_clock), ticker at most F_noop; inlined with a ticker
// 2 ns in node, switched off 1; a profile 1.2 ns, without serial numbers of calls (--span-min off) 0.8.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLI, hasMultiMemory, probed, ROOT } from '../support/cli.mjs';

const ROUNDS = Number(process.env.KPERF_ROUNDS ?? 15);
const LIFE = join(ROOT, 'examples/game-of-life/rust/life.wasm');
const folder = mkdtempSync(join(tmpdir(), 'kperf-bench-'));
const files = { plain: LIFE };
for (const name of ['probed', 'inlined', 'profile', 'counting']) files[name] = join(folder, `${name}.wasm`);
probed(LIFE, files.probed, '--probe', 'import');
probed(LIFE, files.inlined, '--probe', 'inline');
probed(LIFE, files.profile, '--record', 'profile');
probed(LIFE, files.counting, '--record', 'profile', '--span-min', 'off');

if (process.argv[2] === 'chromium') await inChromium();
else if (process.argv[2] === undefined) await inNode();
else console.error('usage: npm run bench [-- chromium]');
rmSync(folder, { recursive: true });

async function inNode() {
    const { WASI } = await import('node:wasi');
    const { createRecorder } = await import('kperf-wasm');
    const { openSync } = await import('node:fs');
    const { configurations, measure } = await import('./configurations.mjs');
    // For a busy machine: the processor time of the guest's thread, which excludes its waits.
    const isCpu = process.env.KPERF_TIME === 'cpu';
    const milliseconds = () => {
        if (!isCpu) return performance.now();
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1e3;
    };
    const stdout = openSync('/dev/null', 'w');
    const isTaken = (path) => hasMultiMemory || path === files.plain || path === files.probed;
    const modules = Object.fromEntries(Object.entries(files).filter(([, path]) => isTaken(path)).map(([name, path]) => [name, new WebAssembly.Module(readFileSync(path))]));
    const start = (module, imports, made = (instance) => instance) => {
        const wasi = new WASI({ version: 'preview1', args: ['life', '500'], returnOnExit: true, stdout });
        const instance = made(new WebAssembly.Instance(module, imports({ ...wasi.getImportObject() })));
        const begin = milliseconds();
        wasi.start(instance);
        return milliseconds() - begin;
    };
    const path = join(folder, 'life.kperf');
    const record = async (clock, record = 'trace') => createRecorder({ path, clock, record, calibrate: false });
    const rows = await measure(configurations({ ...modules, start, record }), ROUNDS);
    print(`node ${process.versions.node}${isCpu ? ', processor time' : ''}`, rows);
    const report = JSON.parse(execFileSync(CLI, ['report', path, '--format', 'json'], { encoding: 'utf8' }));
    if (report.calls > 0) console.log(`\nthe last trace: ${readFileSync(path).length / report.calls} bytes a call, ${report.calls} calls`);
}

async function inChromium() {
    const { launch, open } = await import('../support/chromium.mjs');
    const { serve } = await import('../support/server.mjs');
    const browser = await launch();
    const page = `<!doctype html><script type="module">
        import { WASI, File, OpenFile } from '/wasi/index.js';
        import { createRecorder } from '/dist/browser/index.js';
        import { configurations, measure } from '/configurations.mjs';
        globalThis.result = (async () => {
            const modules = {};
            for (const name of ${JSON.stringify(Object.keys(files))}) modules[name] = await WebAssembly.compileStreaming(fetch('/' + name + '.wasm'));
            const start = (module, imports, made = (instance) => instance) => {
                const file = () => new OpenFile(new File([]));
                const wasi = new WASI(['life', '500'], [], [file(), file(), file()]);
                const instance = made(new WebAssembly.Instance(module, imports({ wasi_snapshot_preview1: wasi.wasiImport })));
                const begin = performance.now();
                wasi.start(instance);
                return performance.now() - begin;
            };
            const record = async (clock, record = 'trace') => {
                const kperf = createRecorder({ clock, record });
                await kperf.ready;
                return kperf;
            };
            return measure(configurations({ ...modules, start, record }), ${ROUNDS});
        })();
    </script>`;
    const content = {
        '/': page,
        ...Object.fromEntries(Object.entries(files).map(([name, path]) => [`/${name}.wasm`, readFileSync(path)])),
        '/configurations.mjs': readFileSync(new URL('configurations.mjs', import.meta.url)),
    };
    const server = await serve(content, { isolated: true });
    const { result } = await open(browser, server.url);
    print(`chromium ${browser.version()}, cross-origin isolated`, result);
    await server.close();
    await browser.close();
}

function print(host, { calls, rows, clock }) {
    const least = (name) => rows.find((row) => row.name === name).least;
    const [plain, noop] = [least('plain'), least('empty functions (F_noop)') - least('plain')];
    console.log(`${host}: ${calls} calls a run, ${ROUNDS} runs in turn; nanoseconds a call; F_noop ${noop.toFixed(2)}, F_clock ${clock.toFixed(2)}\n`);
    console.log(`${''.padEnd(30)}${['min', 'median', 'added', 'to floor', '+ trace'].map((word) => word.padStart(9)).join('')}`);
    for (const { name, least, median, whole } of rows) {
        const floor = name.includes('precise') ? noop + clock : noop;
        const ratio = /^(recorder|profile)/.test(name) ? ((least - plain) / floor).toFixed(2) : '';
        const numbers = [least.toFixed(2), median.toFixed(2), (least - plain).toFixed(2), ratio, whole ? (whole - plain).toFixed(2) : ''];
        console.log(`${name.padEnd(30)}${numbers.map((text) => text.padStart(9)).join('')}`);
    }
}
