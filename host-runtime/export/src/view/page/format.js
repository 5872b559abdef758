// Numbers and names for people.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `2,000,501`. */
export function countText(count) {
  return GROUPED.format(count);
}

const TIMES = ["ns", "µs", "ms", "s"];
const INSTRUCTIONS = ["instr", "k instr", "M instr", "G instr"];

/** What durations are in: one, a thousand, a million, a thousand million of them. */
let units = TIMES;

/** Says which kind of clock the trace has: where it counts instructions, a nanosecond stands for one. */
export function setClock(kind) {
  units = kind === "instructions" ? INSTRUCTIONS : TIMES;
}

/** The name of a column in a file, which says what it is in: `self_nanos`, or `self_instructions`. */
export function columnName(name) {
  return units === INSTRUCTIONS ? name.replace("nanos", "instructions") : name;
}

/** A duration in the unit that suits it: `61 ns`, `1.234 us`, `56.789 ms`, `2.000 s`; or `1.234 M instr`. */
export function nanosText(nanos) {
  const [one, thousand, million, billion] = units;
  if (nanos < 99.95) return `${trimmed(nanos)} ${one}`;
  if (nanos < 999.5) return `${nanos.toFixed(0)} ${one}`;
  if (nanos < 999_999.5) return `${(nanos / 1e3).toFixed(3)} ${thousand}`;
  if (nanos < 999_999_500) return `${(nanos / 1e6).toFixed(3)} ${million}`;
  return `${(nanos / 1e9).toFixed(3)} ${billion}`;
}

function trimmed(nanos) {
  return nanos.toFixed(1).replace(/\.0$/, "");
}

/** `1,234 bytes`, `12.3 KiB`, `4.56 MiB`. */
export function bytesText(bytes) {
  if (bytes < 10_000) return plural(bytes, "byte");
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value < 99.95 ? value.toPrecision(3) : value.toFixed(0)} ${["bytes", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

/** `12.3 %`, `12.3 ± 0.4 %` with an error; anything that is not nothing is more than 0. A share that isn't known is `-`. */
export function percentText(share, error = null) {
  const percent = share * 100;
  if (Number.isNaN(percent)) return "-";
  if (error !== null) return `${percent.toFixed(1)} ± ${(error * 100).toFixed(1)} %`;
  if (percent > 0 && percent < 0.05) return "< 0.1 %";
  return `${percent.toFixed(1)} %`;
}

/** `1 call`, `2,000 calls`. */
export function plural(count, noun) {
  return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A name in so many characters: all of it, or its last part, or else the middle of that is left out. */
export function shortName(name, characters) {
  if (name.length <= characters) return name;
  const last = lastPart(name);
  if (last.length <= characters) return last;
  const text = characters < 20 ? last : name;
  if (characters < 12) return text.slice(0, Math.max(0, characters - 1)) + "…";
  const head = Math.ceil((characters - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (characters - 1 - head))}`;
}

/** What is behind the last `::`, `.` or `/` outside of brackets, if that is a name. */
export function lastPart(name) {
  let depth = 0;
  for (let n = name.length - 1; n > 0; n--) {
    const character = name[n];
    if (")>]}".includes(character) && name[n - 1] !== "-") depth++;
    else if ("(<[{".includes(character)) depth--;
    else if (depth === 0 && (character === "/" || character === "." || (character === ":" && name[n - 1] === ":"))) {
      return /^[\p{L}_]/u.test(name.slice(n + 1)) ? name.slice(n + 1) : name;
    }
  }
  return name;
}

/** Round steps for an axis: at most `max` of them fit into `extent`. Answers the step. */
export function axisStep(extent, max) {
  const rough = extent / Math.max(1, max);
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

/**
 * A moment, told as finely as steps of `step` need, in the unit that suits `largest`: `4.1234567 s`. All in nanoseconds; what is
 * before the beginning has a minus.
 */
export function momentText(nanos, step, largest = nanos) {
  const size = Math.abs(largest);
  const power = size >= 1e9 ? 3 : size >= 1e6 ? 2 : size >= 1e3 ? 1 : 0;
  const one = 1e3 ** power;
  // Steps are 1, 2 or 5 times a power of ten; a bit more than none is none.
  const digits = Math.min(12, Math.max(0, Math.ceil(Math.log10(one / step) - 1e-9)));
  const text = (Math.round(nanos / one * 10 ** digits) / 10 ** digits || 0).toFixed(digits);
  const [whole, part] = text.split(".");
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${part ? `.${part}` : ""} ${units[power]}`.replace("-", "\u2212");
}
