/** Times and numbers as text, as the Rust command's tables have them (kperf-profile's text.rs and unit.rs). */

/** Names of one, thousand, a million and thousand million. */
const TIME = ['ns', 'us', 'ms', 's'], INSTRUCTIONS = ['instr', 'k instr', 'M instr', 'G instr'];

/** A time in nanoseconds, or a number of instructions: `61 ns`, `1.234 us`, `1.234 k instr`. */
export function exactText(number: number, counts: boolean): string {
    const names = counts ? INSTRUCTIONS : TIME;
    const whole = Math.round(number);
    if (whole < 1000) return `${whole} ${names[0]}`;
    // Rounded before the unit is chosen.
    const unit = whole < 1e6 ? 1 : Math.round(whole / 1e3) < 1e6 ? 2 : 3;
    return `${(Math.round(whole / 1000 ** (unit - 1)) / 1000).toFixed(3)} ${names[unit]}`;
}

/** A time with only the digits that its error allows, both in nanoseconds: `108 ms`; `<2 us` if the error is larger than the time. */
export function roughText(nanos: number, error: number): string {
    if (!Number.isFinite(error)) return '?';
    const power = (of: number): number => 10 ** Math.floor(Math.log10(of));
    if (nanos < error) {
        const max = Math.max(1, nanos + error);
        const bound = Math.ceil(max / power(max)) * power(max);
        return `<${inUnit(bound, power(bound))}`;
    }
    const step = Math.max(0.1, power(Math.max(0.1, error)));
    return inUnit(Math.round(nanos / step) * step, step);
}

/** A multiple of a step, a power of ten. */
function inUnit(nanos: number, step: number): string {
    const unit = nanos < 1e3 ? 0 : nanos < 1e6 ? 1 : nanos < 1e9 ? 2 : 3;
    const digits = Math.min(3, Math.max(0, Math.round(Math.log10(1000 ** unit / step))));
    return `${(nanos / 1000 ** unit).toFixed(digits)} ${TIME[unit]}`;
}

const Z = 1.96;

/** Half of the interval in which a share lies with 95 % confidence, if so many samples found it: Wilson's score interval. */
export function wilson(share: number, samples: number): number {
    if (samples <= 0) return 1;
    const p = Math.min(1, Math.max(0, share));
    return (Z / (1 + (Z * Z) / samples)) * Math.sqrt((p * (1 - p)) / samples + (Z * Z) / (4 * samples * samples));
}

/** `1 lane`, `2 lanes`. */
export function plural(count: number, noun: string): string {
    return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
