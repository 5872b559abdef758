// A real OpenTelemetry Collector on free ports that writes what it takes to a file.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './cli.mjs';

/**
 * Its program: built by scripts/otlp-server, or what the environment names. `undefined` where there is no Go to build
 * it.
 */
export function collectorProgram() {
    if (process.env.KPERF_COLLECTOR) return process.env.KPERF_COLLECTOR;
    try {
        return execFileSync(join(ROOT, 'scripts/otlp-server'), ['collector'], { encoding: 'utf8' }).trim();
    } catch {
        return undefined;
    }
}

/** Two ports that nobody has. Both are held until both are known: else they may be the same. */
async function freePorts() {
    const servers = [createServer(), createServer()];
    for (const server of servers) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ports = servers.map((server) => server.address().port);
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
    return ports;
}

/** Starts it in a folder. Pages of this machine may send to it. With `all` it takes metrics and profiles too. */
export async function startCollector(folder, { all = false } = {}) {
    for (let tries = 1; ; tries++) {
        try {
            return await start(folder, all);
        } catch (error) {
            // Somebody may have taken one of its ports.
            if (tries === 3) throw error;
        }
    }
}

async function start(folder, all) {
    const [http, health] = await freePorts();
    const fileOf = (signal) => join(folder, `${signal}-${http}.json`);
    const file = fileOf('traces');
    const signals = all ? ['traces', 'metrics', 'profiles'] : ['traces'];
    const config = join(folder, `collector-${http}.yaml`);
    writeFileSync(config, `
extensions: {health_check: {endpoint: '127.0.0.1:${health}'}}
receivers:
  otlp: {protocols: {http: {endpoint: '127.0.0.1:${http}', cors: {allowed_origins: ['http://127.0.0.1:*'], allowed_headers: ['*']}}}}
exporters: {${signals.map((signal) => `file/${signal}: {path: '${fileOf(signal)}', format: json, flush_interval: 100ms}`).join(', ')}}
service:
  extensions: [health_check]
  pipelines: {${signals.map((signal) => `${signal}: {receivers: [otlp], exporters: [file/${signal}]}`).join(', ')}}
  telemetry: {logs: {level: warn}, metrics: {level: none}}
`);
    const child = spawn(
        collectorProgram(),
        ['--config', `file:${config}`, ...(all ? ['--feature-gates=+service.profilesSupport'] : [])],
        { stdio: ['ignore', 'inherit', 'inherit'] },
    );
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
    // The last line may be half there.
    const linesOf = (file) =>
        (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)) : []);
    const written = () => {
        return linesOf(file).flatMap((line) => line.resourceSpans.flatMap(({ resource, scopeSpans }) =>
            scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource: attributes(resource) })))));
    };
    return {
        endpoint: `http://127.0.0.1:${http}`,
        /** Waits until it has so many spans. */
        async until(count) {
            for (let n = 0; written().length < count; n++) {
                if (n > 300) throw new Error(`of ${count} spans ${written().length} came`);
                await new Promise((resolve) => setTimeout(resolve, 100));
            }
        },
        /** Ends it, which makes it write all it has; its spans, each with its resource's attributes. */
        async spans() {
            child.ref();
            child.kill('SIGTERM');
            await ended;
            return written();
        },
        /** The messages of another signal that it has written. */
        messages: (signal) => linesOf(fileOf(signal)),
    };
}

function attributes({ attributes }) {
    return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
