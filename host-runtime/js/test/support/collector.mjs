// A real OpenTelemetry Collector on free ports that writes what it takes to a file.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './cli.mjs';

/** Its program: built by scripts/otlp-server, or what the environment names. `undefined` where there is no Go to build it. */
export function collectorProgram() {
    if (process.env.KPERF_COLLECTOR) return process.env.KPERF_COLLECTOR;
    try {
        return execFileSync(join(ROOT, 'scripts/otlp-server'), ['collector'], { encoding: 'utf8' }).trim();
    } catch {
        return undefined;
    }
}

const freePort = () => new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        server.close(() => resolve(port));
    });
});

/** Starts it in a folder. Pages of this machine may send to it. */
export async function startCollector(folder) {
    const [http, health] = [await freePort(), await freePort()];
    const file = join(folder, `spans-${http}.json`);
    const config = join(folder, `collector-${http}.yaml`);
    writeFileSync(config, `
extensions: {health_check: {endpoint: '127.0.0.1:${health}'}}
receivers:
  otlp: {protocols: {http: {endpoint: '127.0.0.1:${http}', cors: {allowed_origins: ['http://127.0.0.1:*'], allowed_headers: ['*']}}}}
exporters: {file: {path: '${file}', format: json, flush_interval: 100ms}}
service:
  extensions: [health_check]
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
  telemetry: {logs: {level: warn}, metrics: {level: none}}
`);
    const child = spawn(collectorProgram(), ['--config', `file:${config}`], { stdio: ['ignore', 'inherit', 'inherit'] });
    const ended = new Promise((resolve) => child.on('exit', resolve));
    // A test that fails before it asks for the spans leaves it behind.
    child.unref();
    process.on('exit', () => child.kill());
    for (let n = 0; ; n++) {
        const up = await fetch(`http://127.0.0.1:${health}/`).then(({ ok }) => ok, () => false);
        if (up) break;
        if (n > 300 || child.exitCode !== null) throw new Error('the Collector does not start');
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return {
        endpoint: `http://127.0.0.1:${http}`,
        /** Ends it, which makes it write all it has; its spans, each with its resource's attributes. */
        async spans() {
            child.ref();
            child.kill('SIGTERM');
            await ended;
            const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter((line) => line !== '') : [];
            return lines.flatMap((line) => JSON.parse(line).resourceSpans.flatMap(({ resource, scopeSpans }) =>
                scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource: attributes(resource) })))));
        },
    };
}

function attributes({ attributes }) {
    return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
