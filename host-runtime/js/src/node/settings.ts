/** Settings from the environment. They are read when the package is loaded, since some tools empty the environment later. */

import { parseClock } from '../common/clock/clock.js';
import { parseSampling, type SamplingOptions } from '../common/profile/sampling.js';
import { hasMultiMemory } from '../common/recorder/lane.js';
import { otlpFromEnvironment, type OtlpOptions } from '../common/otlp/settings.js';
import { reasonOf } from '../common/warn.js';
import type { RewriteOptions } from '../common/hook/rewriter.js';
import type { LoadingSettings } from './loading.js';
import { cacheFolder } from './module-cache.js';
import { plannedIn } from './plan-file.js';

/** Settings of `kperf-wasm/register`. */
export type Settings = ReturnType<typeof readSettings>;

/** Removed variables, and what to use instead. */
const REMOVED = {
    KPERF_INLINING: 'KPERF_PROBE=import keeps V8\'s limits of inlining',
    KPERF_DATASET: '`kperf-wasm collect` of the Rust command takes the traces that node writes',
    KPERF_WEIGHTS: 'KPERF_CLOCK=instructions counts each instruction as one',
};

/** Reads `KPERF_*` and `OTEL_*`. Throws if a variable is invalid. */
export function readSettings(environment: NodeJS.ProcessEnv) {
    // An empty variable counts as unset.
    const env = Object.fromEntries(Object.entries(environment).filter(([name, value]) => value !== '' || !name.startsWith('KPERF_')));
    for (const [name, instead] of Object.entries(REMOVED)) if (env[name]) throw new TypeError(`${name} was removed: ${instead}`);
    const clock = env['KPERF_CLOCK'] ?? 'auto';
    naming(['KPERF_CLOCK'], () => parseClock(clock));
    const record = env['KPERF_RECORD'];
    if (record !== undefined && record !== 'trace' && record !== 'profile') throw new TypeError(`KPERF_RECORD is \`${record}\`: use trace or profile`);
    const times = ([['KPERF_PERIOD', 'period'], ['KPERF_SPAN_MIN', 'spanMin'], ['KPERF_EVERY', 'every']] as const).filter(([name]) => env[name]);
    const sampling: SamplingOptions = Object.fromEntries(times.map(([name, key]) => [key, env[name]]));
    naming(times.map(([name]) => name), () => parseSampling(sampling));
    return {
        enabled: !isTrue(env['OTEL_SDK_DISABLED']),
        path: env['KPERF_TRACE']?.replaceAll('%p', String(process.pid)),
        /** Whether the path has the process's id. */
        isOwnPath: env['KPERF_TRACE']?.includes('%p') ?? false,
        clock,
        /** Unset: the first module decides. */
        record: record as 'trace' | 'profile' | undefined,
        sampling,
        calibrate: isOn(env, 'KPERF_CALIBRATE', clock !== 'test'),
        quiet: isOn(env, 'KPERF_QUIET', false),
        /** Unset: modules get no probes when they are loaded. */
        loading: loadingFromEnvironment(env),
        ...sendingFromEnvironment(env),
    };
}

/** The default of `KPERF_SPAN_RATE`: an endpoint may be in the environment for other spans. */
const SPANS_PER_SECOND = 1000;

/** How spans are sent, and why not if the program's own settings for OpenTelemetry are not possible here. Throws if a variable of ours is invalid. */
function sendingFromEnvironment(env: NodeJS.ProcessEnv): { otlp?: OtlpOptions; notSent?: string } {
    const rate = env['KPERF_SPAN_RATE'] ?? String(SPANS_PER_SECOND);
    if (rate !== 'all' && !/^[1-9]\d{0,8}$/.test(rate)) throw new TypeError(`KPERF_SPAN_RATE is \`${rate}\`: use a number of spans a second, or all`);
    try {
        const otlp = otlpFromEnvironment(env);
        if (!otlp) return {};
        if (env['KPERF_CLOCK'] === 'instructions') return { notSent: 'KPERF_CLOCK=instructions has no times' };
        return { otlp: rate === 'all' ? otlp : { ...otlp, spansPerSecond: Number(rate) } };
    } catch (error) {
        const notSent = reasonOf(error);
        if (notSent.startsWith('KPERF_')) throw error;
        return { notSent };
    }
}

/** Reads the variables for flags of `kperf-wasm rewrite`. `undefined` if modules get no probes. */
function loadingFromEnvironment(env: NodeJS.ProcessEnv): LoadingSettings | undefined {
    const chosen = oneOf(env, 'KPERF_PROBE', ['auto', 'import', 'inline', 'none']);
    if (chosen === 'none') return undefined;
    const isProfile = env['KPERF_RECORD'] === 'profile';
    if (isProfile && chosen === 'import') throw new TypeError('KPERF_PROBE is `import`: a profile has an inlined recorder; unset it');
    const min = env['KPERF_MIN_INSTRUCTIONS'];
    if (min !== undefined && !/^\d{1,9}$/.test(min)) throw new TypeError(`KPERF_MIN_INSTRUCTIONS is \`${min}\`: use a number`);
    const counts = env['KPERF_CLOCK'] === 'instructions';
    if (counts && isProfile) throw new TypeError('KPERF_CLOCK is `instructions`, which is for traces only: unset KPERF_RECORD');
    // An inlined recorder needs multi-memory.
    const probe = isProfile ? (env['KPERF_SPAN_MIN'] === 'off' ? 'profile-without-spans' : 'profile') : chosen === 'auto' && !hasMultiMemory ? 'import' : chosen;
    const options: RewriteOptions = {
        only: patterns(env['KPERF_ONLY']),
        skip: patterns(env['KPERF_SKIP']),
        ...planned(env),
        match: oneOf(env, 'KPERF_MATCH', ['auto', 'glob', 'regex', 'text']),
        min_instructions: Number(min ?? 0),
        exports: isOn(env, 'KPERF_EXPORTS', false),
        imports: isOn(env, 'KPERF_IMPORTS', tellsImports(env)),
        leaf: oneOf(env, 'KPERF_LEAF', ['time', 'count']),
        clock: counts ? 'instructions' : 'host',
        ...allocationsOf({ sample: env['KPERF_ALLOCATIONS'], allocator: env['KPERF_ALLOCATOR'], isProfile }),
        probe,
        description: described(env),
    };
    const folder = env['KPERF_CACHE'];
    return { options, cache: ['0', 'off'].includes(folder ?? '') ? undefined : (folder ?? cacheFolder(env)) };
}

/**
 * Whether calls of imports get probes unless the user says so: their time is no self time of their callers. But they execute no instructions, and
 * are none of the few functions that somebody chose.
 */
function tellsImports(env: NodeJS.ProcessEnv): boolean {
    return env['KPERF_CLOCK'] !== 'instructions' && env['KPERF_MIN_INSTRUCTIONS'] === undefined && !isTrue(env['KPERF_EXPORTS']);
}

/** Which allocations are recorded: `all`, or the number of bytes per sample, and the names of allocator functions. */
export interface AllocationSettings {
    sample: string | undefined;
    allocator: string | undefined;
    isProfile: boolean;
}

/** The names of these settings, in errors. */
const ALLOCATIONS = { sample: 'KPERF_ALLOCATIONS', allocator: 'KPERF_ALLOCATOR', profile: 'KPERF_RECORD=profile' };

/** These settings as the rewriter's options. */
export function allocationsOf({ sample, allocator, isProfile }: AllocationSettings, names = ALLOCATIONS): Pick<RewriteOptions, 'allocations' | 'allocator'> {
    if (!sample && allocator) throw new TypeError(`${names.allocator} names allocator functions: set ${names.sample}, too`);
    if (!sample) return {};
    if (isProfile) throw new TypeError(`${names.sample} is for traces only: remove ${names.profile}`);
    // 1 means yes, as in other settings; one sample per byte would be all, too.
    const isAll = sample === 'all' || sample === '1';
    if (!isAll && !/^[1-9]\d{0,11}$/.test(sample)) throw new TypeError(`${names.sample} is \`${sample}\`: use all, or a number of bytes`);
    const named = allocator ? allocator.split(/,(?=[a-z_]+=)/) : [];
    const bad = named.find((text) => !/^[^=]+=./s.test(text));
    if (bad !== undefined) throw new TypeError(`${names.allocator} has \`${bad}\`, which is not \`malloc=FUNCTION\``);
    return { allocations: isAll ? 0 : Number(sample), allocator: named };
}

/** The functions that a plan leaves out, if there is one. */
function planned(env: NodeJS.ProcessEnv): Pick<RewriteOptions, 'planned'> {
    const options = {};
    naming(['KPERF_PLAN'], () => Object.assign(options, plannedIn(env['KPERF_PLAN'])));
    return options;
}

/** One pattern per line: names may contain any other character. */
function patterns(text: string | undefined): string[] {
    return (text ?? '').split('\n').filter((pattern) => pattern !== '');
}

/** The variables that are set, as one types them. */
function described(env: NodeJS.ProcessEnv): string {
    const names = ['KPERF_CLOCK', 'KPERF_PROBE', 'KPERF_RECORD', 'KPERF_SPAN_MIN', 'KPERF_ONLY', 'KPERF_SKIP', 'KPERF_MATCH', 'KPERF_PLAN', 'KPERF_MIN_INSTRUCTIONS', 'KPERF_EXPORTS', 'KPERF_IMPORTS', 'KPERF_LEAF', 'KPERF_ALLOCATIONS', 'KPERF_ALLOCATOR'];
    return names.filter((name) => env[name]).map((name) => `${name}='${env[name]}'`).join(' ');
}

/** One of several words. Default: the first. */
function oneOf<const Words extends readonly string[]>(env: NodeJS.ProcessEnv, name: string, words: Words): Words[number] {
    const word = env[name] || words[0]!;
    if (words.includes(word)) return word;
    throw new TypeError(`${name} is \`${word}\`: use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
}

/** Adds the names of variables to an error. */
function naming(names: readonly string[], parse: () => unknown): void {
    try {
        parse();
    } catch (error) {
        throw new TypeError(`${names.join(', ')}: ${reasonOf(error)}`);
    }
}

/** A switch of ours. */
function isOn(env: NodeJS.ProcessEnv, name: string, unset: boolean): boolean {
    const value = env[name];
    if (value === undefined) return unset;
    if (isTrue(value) || ['0', 'false', 'no', 'off'].includes(value.toLowerCase())) return isTrue(value);
    throw new TypeError(`${name} is \`${value}\`: use 1 or 0`);
}

function isTrue(value: string | undefined): boolean {
    return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
