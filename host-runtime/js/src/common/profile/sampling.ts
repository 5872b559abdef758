/** Settings of the sampler. */

export interface Sampling {
    /** Nanoseconds between samples. */
    periodNanos: number;
    /** Calls that samples show to last at least this long, in nanoseconds, are recorded one by one; `undefined`: none. */
    spanMinNanos: number | undefined;
    /** Length of windows in nanoseconds; `undefined`: a second, then each twice the one before. */
    everyNanos: number | undefined;
}

/** The shortest and the longest period, in nanoseconds. Shorter ones would cost the guest more than the probes do. */
const PERIODS = [10_000, 1e9] as const;
const SHORTEST_WINDOW = 10e6;
/** The default period, and its maximum on one processor, where waking a thread takes up to 40 us (on a virtual machine). */
const PERIOD = 100_000;
const ALONE_PERIOD = 1_000_000;
/** The default of `spanMin`, in periods. */
const SPAN_PERIODS = 10;

/** Settings as texts such as `100us`. */
export interface SamplingOptions {
    /** The time between samples. Default: `100us`; on one processor `1ms`, or a tenth of `spanMin` if that is less. */
    period?: string;
    /** Calls that samples show to last at least this long are recorded one by one. Default: ten periods. `off`: none. */
    spanMin?: string;
    /** The length of windows. Default: a second, then each twice the one before. */
    every?: string;
}

/** Parses settings. `processors` affects only defaults. Throws a `TypeError`. */
export function parseSampling({ period, spanMin, every }: SamplingOptions, processors = 2): Sampling {
    const leastNanos = spanMin === undefined || spanMin === 'off' ? Infinity : parseNanos(spanMin, 'length of slow calls');
    const usual = processors > 1 ? PERIOD : Math.min(ALONE_PERIOD, Math.max(PERIOD, leastNanos / SPAN_PERIODS));
    const periodNanos = period === undefined ? usual : parseNanos(period, 'period');
    if (periodNanos < PERIODS[0] || periodNanos > PERIODS[1]) throw new TypeError(`a period of ${period} is not from 10us to 1s`);
    const everyNanos = every === undefined ? undefined : parseNanos(every, 'length of windows');
    if (everyNanos !== undefined && everyNanos < SHORTEST_WINDOW) throw new TypeError(`windows of ${every} are shorter than 10ms`);
    if (spanMin === 'off') return { periodNanos, spanMinNanos: undefined, everyNanos };
    const spanMinNanos = spanMin === undefined ? SPAN_PERIODS * periodNanos : leastNanos;
    if (spanMinNanos < 2 * periodNanos) throw new TypeError(`slow calls of ${spanMin} are shorter than two periods: a call must be in two samples`);
    return { periodNanos, spanMinNanos, everyNanos };
}

function parseNanos(text: string, what: string): number {
    const [, number, unit] = /^([0-9.]+)(ns|us|µs|ms|s|m)$/.exec(text) ?? [];
    const nanos = Math.round(Number(number) * { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 6e10 }[unit as 'ns']);
    if (nanos > 0) return nanos;
    throw new TypeError(`\`${text}\` is not a ${what}: use a time such as 100us or 1ms`);
}
