/** What the environment says, read when the package is loaded: some tools empty the environment later. */

import { parseClock } from '../common/clock.js';
import { parseSampling, type SamplingOptions } from '../common/sampler.js';
import { otlpFromEnvironment, type OtlpOptions } from '../common/otlp-settings.js';

/** The settings of `kperf-wasm/register`. */
export interface Settings {
    enabled: boolean;
    /** The trace's file; `%p` in it is the process's id. */
    path: string | undefined;
    clock: string;
    /** What is to be recorded, if that is said; else the first module decides. */
    record: 'trace' | 'profile' | undefined;
    sampling: SamplingOptions;
    calibrate: boolean;
    /** Whether V8's limits are raised for modules that have their recorder inside. */
    inlining: boolean;
    quiet: boolean;
    /** Where spans are sent, if they are. */
    otlp: OtlpOptions | undefined;
}

/** Reads `KPERF_TRACE`, `KPERF_RECORD`, `KPERF_PERIOD`, `KPERF_SPAN_MIN`, `KPERF_EVERY`, `KPERF_CLOCK`, `KPERF_CALIBRATE`, `KPERF_INLINING`, `KPERF_QUIET`, `KPERF_SPAN_*` and `OTEL_*`. Throws where they make no sense. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
    const clock = env['KPERF_CLOCK'] ?? 'auto';
    parseClock(clock);
    const record = env['KPERF_RECORD'];
    if (record !== undefined && record !== 'trace' && record !== 'profile') throw new TypeError(`KPERF_RECORD is \`${record}\`: use trace or profile`);
    const sampling: SamplingOptions = {};
    for (const [name, key] of [['KPERF_PERIOD', 'period'], ['KPERF_SPAN_MIN', 'spanMin'], ['KPERF_EVERY', 'every']] as const) {
        const text = env[name];
        if (text !== undefined) sampling[key] = text;
    }
    parseSampling(sampling);
    return {
        enabled: !isTrue(env['OTEL_SDK_DISABLED']),
        path: env['KPERF_TRACE']?.replaceAll('%p', String(process.pid)),
        clock,
        record,
        sampling,
        calibrate: env['KPERF_CALIBRATE'] === undefined ? clock !== 'test' : isTrue(env['KPERF_CALIBRATE']),
        inlining: env['KPERF_INLINING'] === undefined || isTrue(env['KPERF_INLINING']),
        quiet: isTrue(env['KPERF_QUIET']),
        otlp: otlpFromEnvironment(env),
    };
}

function isTrue(value: string | undefined): boolean {
    return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
