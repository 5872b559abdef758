/** How to sample modules that make a profile. */

/** How instances are sampled. */
export interface Sampling {
    /** How often a sample is taken, in nanoseconds. */
    periodNanos: number;
    /** Calls that samples see last that long, in nanoseconds, are in the trace one by one; `undefined`: none are. */
    spanMinNanos: number | undefined;
    /** How often what is known goes to the trace, in nanoseconds; `undefined`: after a second, then twice as long each time. */
    everyNanos: number | undefined;
}

/** The shortest and the longest period, in nanoseconds. With a shorter one samples would cost the guest more than anything else of ours. */
const PERIODS = [10_000, 1e9] as const;
const SHORTEST_WINDOW = 10e6;
/** The default period, and the longest where there is one processor: to wake a thread takes up to 40 us of it on a virtual machine. */
const PERIOD = 100_000;
const ALONE_PERIOD = 1_000_000;
/** How many periods a call must last, by default, to be in the trace by itself. */
const SPAN_PERIODS = 10;

/** How to sample: texts such as `100us`, as the command line has them. */
export interface SamplingOptions {
    /** How often a sample is taken. If left out `100us`; `1ms` where there is one processor, or a tenth of `spanMin` if that is less. */
    period?: string;
    /** Calls that samples see last so long are in the trace one by one; ten periods if left out, `off`: none. */
    spanMin?: string;
    /** How often what is known goes to the trace; after a second if left out, then twice as long each time. */
    every?: string;
}

/** Reads options, for so many processors; whether they make sense doesn't depend on that. Throws a `TypeError` where they don't. */
export function parseSampling({ period, spanMin, every }: SamplingOptions, processors = 2): Sampling {
    const leastNanos = spanMin === undefined || spanMin === 'off' ? Infinity : parseNanos(spanMin, 'length of slow calls');
    const usual = processors > 1 ? PERIOD : Math.min(ALONE_PERIOD, Math.max(PERIOD, leastNanos / SPAN_PERIODS));
    const periodNanos = period === undefined ? usual : parseNanos(period, 'period');
    if (periodNanos < PERIODS[0] || periodNanos > PERIODS[1]) throw new TypeError(`a period of ${period} is outside of 10us to 1s`);
    const everyNanos = every === undefined ? undefined : parseNanos(every, 'length of windows');
    if (everyNanos !== undefined && everyNanos < SHORTEST_WINDOW) throw new TypeError(`windows of ${every} are shorter than 10ms`);
    if (spanMin === 'off') return { periodNanos, spanMinNanos: undefined, everyNanos };
    const spanMinNanos = spanMin === undefined ? SPAN_PERIODS * periodNanos : leastNanos;
    if (spanMinNanos < 2 * periodNanos) throw new TypeError(`slow calls of ${spanMin} are less than two periods: a call must be seen twice`);
    return { periodNanos, spanMinNanos, everyNanos };
}

function parseNanos(text: string, what: string): number {
    const [, number, unit] = /^([0-9.]+)(ns|us|µs|ms|s|m)$/.exec(text) ?? [];
    const nanos = Math.round(Number(number) * { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 6e10 }[unit as 'ns']);
    if (nanos > 0) return nanos;
    throw new TypeError(`\`${text}\` is no ${what}: it is a time such as 100us or 1ms`);
}
