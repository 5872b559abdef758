// Starts and ends `npx kperf-wasm serve`.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { kperf, PACKAGE } from './cli.mjs';

const CLI = join(PACKAGE, 'dist/node/cli/main.js');

/** Starts `kperf-wasm serve` with traces below `work`. `end` sends a signal and returns its output. */
export async function start(work, ...args) {
    const traces = join(work, `traces-${Math.random()}`);
    const command = [CLI, 'serve', ...args, '--listen', '127.0.0.1:0', '--traces', traces];
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    // A failed test leaves it running.
    after(() => child.kill());
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (text) => (stdout += text));
    child.stderr.on('data', (text) => (stderr += text));
    const ended = new Promise((resolve) => child.on('close', resolve));
    const until = async (what) => {
        for (let n = 0; !what(); n++) {
            if (n > 600 || child.exitCode !== null) throw new Error(`it never came:\n${stdout}\n${stderr}`);
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    };
    await until(() => /^http:\S+ serves/m.test(stderr));
    const reports = () => {
        const names = existsSync(traces) ? readdirSync(traces).filter((name) => name.endsWith('.kperf')).sort() : [];
        const paths = names.map((name) => join(traces, name)).filter((path) => statSync(path).size > 0);
        return paths.map((path) => JSON.parse(kperf('report', path, '--format', 'json')));
    };
    return {
        url: /^http:\S+/m.exec(stderr)[0],
        traces,
        until: (what) => until(what instanceof RegExp ? () => what.test(stdout) : what),
        /** Waits until the reports of the traces fulfil a condition. */
        untilReported: (what) => until(() => {
            try {
                return what(reports());
            } catch {
                // A trace may have no chunk yet.
                return false;
            }
        }),
        /** The reports of the traces so far. */
        reports,
        async end() {
            child.kill('SIGINT');
            const status = await ended;
            return { status, stdout, stderr, get reports() { return reports(); } };
        },
    };
}
