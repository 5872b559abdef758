// Numbers and names for people.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `2,000,501`. */
export function countText(count) {
  return GROUPED.format(count);
}

/** A duration in the unit that suits it: `61 ns`, `1.234 us`, `56.789 ms`, `2.000 s`. */
export function nanosText(nanos) {
  if (nanos < 99.95) return `${trimmed(nanos)} ns`;
  if (nanos < 999.5) return `${nanos.toFixed(0)} ns`;
  if (nanos < 999_999.5) return `${(nanos / 1e3).toFixed(3)} µs`;
  if (nanos < 999_999_500) return `${(nanos / 1e6).toFixed(3)} ms`;
  return `${(nanos / 1e9).toFixed(3)} s`;
}

function trimmed(nanos) {
  return nanos.toFixed(1).replace(/\.0$/, "");
}

/** `12.3 %`; anything that is not nothing is more than 0. */
export function percentText(share) {
  const percent = share * 100;
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

/** Round steps for an axis: at most `most` of them fit into `extent`. Answers the step. */
export function axisStep(extent, most) {
  const rough = extent / Math.max(1, most);
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

/** A moment on an axis whose steps are `step` long, all in nanoseconds: no digit more than the step needs. */
export function axisText(nanos, step) {
  const [unit, name] = step >= 1e9 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const inUnit = nanos / unit;
  return `${GROUPED.format(inUnit)} ${name}`;
}
