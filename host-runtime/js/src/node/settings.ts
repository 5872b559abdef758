/** What the environment says, read when the package is loaded: some tools empty the environment later. */

import { parseClock } from '../common/clock.js';
import { otlpFromEnvironment, type OtlpOptions } from '../common/otlp-settings.js';

/** The settings of `kperf-wasm/register`. */
export interface Settings {
    enabled: boolean;
    /** The trace's file; `%p` in it is the process's id. */
    path: string | undefined;
    clock: string;
    calibrate: boolean;
    quiet: boolean;
    /** Where spans are sent, if they are. */
    otlp: OtlpOptions | undefined;
}

/** Reads `KPERF_TRACE`, `KPERF_CLOCK`, `KPERF_CALIBRATE`, `KPERF_QUIET`, `KPERF_SPAN_*` and `OTEL_*`. Throws where they make no sense. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
    const clock = env['KPERF_CLOCK'] ?? 'auto';
    parseClock(clock);
    return {
        enabled: !isTrue(env['OTEL_SDK_DISABLED']),
        path: env['KPERF_TRACE']?.replaceAll('%p', String(process.pid)),
        clock,
        calibrate: env['KPERF_CALIBRATE'] === undefined ? clock !== 'test' : isTrue(env['KPERF_CALIBRATE']),
        quiet: isTrue(env['KPERF_QUIET']),
        otlp: otlpFromEnvironment(env),
    };
}

function isTrue(value: string | undefined): boolean {
    return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
