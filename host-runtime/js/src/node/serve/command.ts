/** `npx kperf-wasm serve`: a development server whose pages record. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { basename, resolve } from 'node:path';
import { isIP } from 'node:net';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { parseClock } from '../../common/clock/clock.js';
import { otlpFromEnvironment, tracesUrl, type OtlpOptions } from '../../common/otlp/settings.js';
import { reasonOf } from '../../common/warn.js';
import { rewrite, type RewriteOptions } from '../../common/hook/rewriter.js';
import { parseSampling } from '../../common/profile/sampling.js';
import { number, oneOf, PROBED, probed, printStatus, Usage, usage, type Values } from '../cli-args.js';
import { rewriterModule } from '../loading.js';
import { allocationsOf } from '../settings.js';
import { isLoopback } from './hosts.js';
import { Modules } from './modules.js';
import { pageServer } from './server.js';
import { Site } from './site.js';
import { Traces } from './traces.js';

/** The flags of how modules are rewritten. */
const REWRITTEN = {
    ...PROBED,
    leaf: { type: 'string', default: 'time' },
    allocations: { type: 'string' },
    allocator: { type: 'string', multiple: true, default: [] as string[] },
    'no-callbacks': { type: 'string', multiple: true, default: [] as string[] },
    closed: { type: 'boolean', default: false },
} as const satisfies ParseArgsConfig['options'];

const SERVE = {
    proxy: { type: 'string' },
    listen: { type: 'string', default: '127.0.0.1:8080' },
    'allow-host': { type: 'string', multiple: true, default: [] as string[] },
    traces: { type: 'string', default: '.' },
    otlp: { type: 'string' },
    clock: { type: 'string', default: 'auto' },
    'no-isolation': { type: 'boolean', default: false },
    top: { type: 'string', default: '20' },
    ...REWRITTEN,
    probe: { type: 'string', default: 'auto' },
    record: { type: 'string', default: 'trace' },
    'span-min': { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

/** Serves until Ctrl-C. */
export async function serve(args: string[]): Promise<void> {
    // `--otlp` alone means the endpoint of the environment, `--allocations` alone all of them.
    const whole = args.map((arg) => ({ '--otlp': '--otlp=', '--allocations': '--allocations=all' })[arg] ?? arg);
    const { values, positionals } = parseArgs({ args: whole, options: SERVE, allowPositionals: true });
    const { proxy, clock } = values;
    if (positionals.length + (proxy === undefined ? 0 : 1) !== 1) {
        const hint = args.includes('--otlp') && positionals.length > 0 ? '; write the endpoint after `=`: --otlp=http://localhost:4318' : '';
        throw new Usage(`name one folder, or give --proxy http://HOST:PORT${hint}`);
    }
    const address = addressOf(values.listen);
    const top = number('--top', values.top);
    const { isProfile, spanMin } = sampling(values);
    const isolate = !values['no-isolation'];
    if (isProfile && !isolate) throw new Usage('a profile needs cross-origin isolated pages: remove --no-isolation');
    checkClock(clock);
    const probe = oneOf('--probe', values.probe, 'auto', 'import', 'inline');
    if (isProfile && probe === 'import') throw new Usage('a profile has an inlined recorder: remove --probe import');
    const options: RewriteOptions = {
        ...probed(values),
        ...rewritten(values, isProfile, probe),
        probe: isProfile ? (spanMin === 'off' ? 'profile-without-spans' : 'profile') : probe,
        description: described(values),
    };
    check(options);
    const site = proxy === undefined ? Site.folder(positionals[0]!) : Site.proxy(proxy);
    const name = proxy === undefined ? basename(resolve(positionals[0]!)) || 'page' : 'page';
    const traces = new Traces({ folder: values.traces, name, otlp: otlp(values.otlp), top, status: printStatus });
    const attributes = [`data-clock="${clock}"`, ...(values.imports ? ['data-imports="true"'] : []), ...(isProfile ? ['data-record="profile"'] : []), ...(spanMin === undefined ? [] : [`data-span-min="${spanMin}"`])].join(' ');
    const local = isLoopback(address.host);
    // An inlined recorder costs less only with a ticker, which needs an isolated page.
    const inline = isolate && (clock === 'auto' || clock.startsWith('ticker'));
    const modules = new Modules({ options, inline });
    const server = pageServer({ site, modules, traces, attributes, isolate, local, names: values['allow-host'] });
    // The reader of our output may have gone.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
    await once(server.listen(address), 'listening').catch((error: unknown) => {
        throw new Error(`failed to listen at ${values.listen}: ${reasonOf(error)}`);
    });
    const stopped = new Promise((stop) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
    });
    const { address: host, port, family } = server.address() as AddressInfo;
    printStatus(`http://${family === 'IPv6' ? `[${host}]` : host}:${port}/ serves ${site.name}; Ctrl-C ends it`);
    if (!local) {
        printStatus(`others in your network can read ${site.name} here, and add files to \`${values.traces}\`; names other than addresses are answered only with --allow-host`);
    }
    await stopped;
    // The second signal ends it at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
    server.close();
    server.closeAllConnections();
    await traces.stop();
    for (const name of modules.missing) printStatus(`warning: --allocator ${name}: no module of the pages has this function`);
    // A thread may still be rewriting a module.
    process.exit();
}

const ALLOCATIONS = { sample: '--allocations', allocator: '--allocator', profile: '--record profile' };

function rewritten(values: Values<typeof REWRITTEN>, isProfile: boolean, probe: string): RewriteOptions {
    const leaf = oneOf('--leaf', values.leaf, 'time', 'count');
    if (leaf === 'count' && (isProfile || probe === 'import')) {
        throw new Usage(`--leaf count is for traces with an inlined recorder: remove ${isProfile ? '--record profile' : '--probe import'}`);
    }
    const { allocations: sample, allocator, closed } = values;
    const harmless = values['no-callbacks'];
    return {
        leaf,
        ...usage('', () => allocationsOf({ sample, allocator: allocator.join(','), isProfile }, ALLOCATIONS)),
        ...(harmless.length > 0 && { no_callbacks: harmless }),
        ...(closed && { closed }),
    };
}

/** `127.0.0.1:8080`, `[::1]:0`. */
function addressOf(text: string): { host: string; port: number } {
    const [, ipv6, ipv4, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
    const host = ipv6 ?? ipv4;
    if (host === undefined || isIP(host) === 0 || Number(port) > 65535) throw new Usage(`--listen ${text}: use an address and a port, such as 127.0.0.1:8080`);
    return { host, port: Number(port) };
}

/** The clock's name is put into pages without quoting. */
function checkClock(clock: string): void {
    if (clock === 'instructions' || !/^[a-z0-9.:]+$/.test(clock)) throw new Usage(`--clock ${clock}: use auto, precise, ticker, or ticker:PERIOD such as ticker:2us`);
    usage(`--clock ${clock}: `, () => parseClock(clock));
}

/** The flags of rewriting, as typed. */
function described(values: Record<string, unknown>): string {
    const names = [...Object.keys(REWRITTEN), 'probe', 'record', 'span-min'];
    const flag = (name: string): string[] => {
        const value = values[name];
        if (value === true) return [`--${name}`];
        if (Array.isArray(value)) return value.map((one) => `--${name} '${one}'`);
        return typeof value === 'string' && value !== (SERVE as Record<string, { default?: unknown }>)[name]!.default ? [`--${name} ${value}`] : [];
    };
    return names.flatMap(flag).join(' ');
}

/** A module with one function that does nothing. */
const SMALLEST = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 4, 1, 2, 0, 11);

/** Reports bad patterns and roles of allocators now, rather than for each module. */
function check(options: RewriteOptions): void {
    const { only, skip, no_callbacks, allocator } = options;
    if ([only, skip, no_callbacks, allocator].every((texts) => !texts?.length)) return;
    const { refusal } = rewrite(rewriterModule(), SMALLEST, options);
    if (/^(bad pattern|the allocator)/.test(refusal ?? '')) throw new Usage(refusal);
}

/** Whether pages make profiles, and the minimum duration of calls that a profile has as spans. */
function sampling({ record, 'span-min': spanMin }: { record: string; 'span-min'?: string | undefined }): { isProfile: boolean; spanMin: string | undefined } {
    const isProfile = oneOf('--record', record, 'trace', 'profile') === 'profile';
    if (spanMin !== undefined && !isProfile) throw new Usage('--span-min is for profiles: add --record profile');
    if (spanMin !== undefined) usage(`--span-min ${spanMin}: `, () => parseSampling({ spanMin }));
    return { isProfile, spanMin };
}

/** The Collector for spans, from `--otlp` or the environment. */
function otlp(endpoint: string | undefined): OtlpOptions | undefined {
    if (endpoint === undefined) return undefined;
    const { url, ...others } = otlpFromEnvironment({ ...process.env, OTEL_TRACES_EXPORTER: 'otlp' }) ?? {};
    const options: OtlpOptions = endpoint !== '' ? { ...others, endpoint } : { ...others, ...(url !== undefined && { url }) };
    usage('--otlp: ', () => tracesUrl(options));
    return options;
}
