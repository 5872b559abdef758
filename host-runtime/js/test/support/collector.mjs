// An OpenTelemetry Collector on free ports, which writes to a file.
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

/** Two free ports. Both are held until both are known, so they differ. */
async function freePorts() {
    const servers = [createServer(), createServer()];
    for (const server of servers) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ports = servers.map((server) => server.address().port);
    for (const server of servers) await new Promise((resolve) => server.close(resolve));
    return ports;
}

/** Starts the Collector in a folder. It accepts pages of this machine, and with `all` metrics and profiles, too. */
export async function startCollector(folder, { all = false } = {}) {
    for (let tries = 1; ; tries++) {
        try {
            return await start(folder, all);
        } catch (error) {
            // One of its ports may have been taken.
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
    // A failed test leaves it running.
    child.unref();
    process.on('exit', () => child.kill());
    for (let n = 0; ; n++) {
        const up = await fetch(`http://127.0.0.1:${health}/`).then(({ ok }) => ok, () => false);
        if (up) break;
        if (n > 300 || child.exitCode !== null) throw new Error('the Collector does not start');
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // The last line may be incomplete.
    const linesOf = (file) =>
        (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)) : []);
    const written = () => {
        return linesOf(file).flatMap((line) => line.resourceSpans.flatMap(({ resource, scopeSpans }) =>
            scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource: attributes(resource) })))));
    };
    return {
        endpoint: `http://127.0.0.1:${http}`,
        /** Waits for this number of spans. */
        async until(count) {
            for (let n = 0; written().length < count; n++) {
                if (n > 300) throw new Error(`of ${count} spans ${written().length} came`);
                await new Promise((resolve) => setTimeout(resolve, 100));
            }
        },
        /** Ends it, so that it writes everything, and returns its spans with their resource's attributes. */
        async spans() {
            child.ref();
            child.kill('SIGTERM');
            await ended;
            return written();
        },
        /** Its messages of another signal. */
        messages: (signal) => linesOf(fileOf(signal)),
    };
}

function attributes({ attributes }) {
    return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
