// The errors of figures, and the digits that they leave: as kperf-profile's `Accuracy` has them.
import { nanosText } from "./format.js";

/** So many standard errors are half of an interval of 95 % confidence. */
const Z = 1.96;

/** Half the width of the interval in which a share lies that `samples` found: Wilson's. */
function wilson(share, samples) {
  if (!(samples > 0)) return 1;
  if (samples === Infinity) return 0;
  const p = Math.min(1, Math.max(0, share));
  return (Z / (1 + (Z * Z) / samples)) * Math.sqrt((p * (1 - p)) / samples + (Z * Z) / (4 * samples * samples));
}

export class Accuracy {
  /** `precision` is the page's: null if shares are exact. `part` is the part of all self time that the figures are of. */
  constructor(precision, part = 1) {
    // JSON has no infinity: without a number of samples each event read the clock.
    this.exact = precision?.effectiveSamples == null;
    this.exactShares = !precision;
    if (this.exactShares) return;
    const { effectiveSamples, resolutionNanos, selfNanos, calls, callNanos, isEven } = precision;
    this.samples = (effectiveSamples ?? Infinity) * part;
    this.resolution = resolutionNanos ?? Infinity;
    Object.assign(this, { self: selfNanos * part, calls: calls * part, callNanos, isEven });
  }

  /** How far a function's share of self time may be off, as a share; null if it is exact. */
  shareError(share, calls) {
    if (this.exactShares) return null;
    const own = calls * (1 - share);
    const others = share * Math.max(0, this.calls - calls);
    const wrong = this.isEven ? Math.abs(own - others) : Math.max(own, others);
    const sampling = wilson(share, this.samples);
    const probes = (this.callNanos * wrong) / Math.max(1, this.self);
    return Math.min(1, Math.sqrt(sampling * sampling + probes * probes));
  }

  /** A sum of times. */
  timeText(nanos) {
    return this.exact ? nanosText(nanos) : roughText(nanos, this.error(nanos));
  }

  /** The mean of calls that took `total` together. */
  meanText(nanos, total, calls) {
    return this.exact ? nanosText(nanos) : roughText(nanos, this.error(total) / Math.max(1, calls));
  }

  /** The time of a single call, which begins and ends somewhere between two ticks. */
  callText(nanos) {
    return this.exact ? nanosText(nanos) : roughText(nanos, this.resolution);
  }

  error(nanos) {
    return this.samples > 0 ? this.self * wilson(nanos / Math.max(1, this.self), this.samples) : Infinity;
  }
}

/** A duration with only as many digits as its error allows; a bound, `<2 µs`, if the error is larger. */
export function roughText(nanos, error) {
  if (!Number.isFinite(error)) return "?";
  const below = (value) => 10 ** Math.floor(Math.log10(value));
  if (nanos < error) {
    const max = Math.max(1, nanos + error);
    const step = below(max);
    const bound = Math.ceil(max / step) * step;
    return `<${inUnit(bound, below(bound))}`;
  }
  const step = Math.max(0.1, below(Math.max(0.1, error)));
  return inUnit(Math.round(nanos / step) * step, step);
}

function inUnit(nanos, step) {
  const [unit, name] = nanos < 1e3 ? [1, "ns"] : nanos < 1e6 ? [1e3, "µs"] : nanos < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const digits = Math.min(3, Math.max(0, Math.round(Math.log10(unit / step))));
  return `${(nanos / unit).toFixed(digits)} ${name}`;
}
