// Figures of a range of time: of whole slices, and at both ends of the calls that are drawn there.
import { Walk } from "./walk.js";

/** How many slices' calls are remembered: both ends of a range stay in theirs while it is dragged. */
const REMEMBERED = 8;

export class Slices {
  /**
   * `columns` is what `readSlices` answers, `tree` the call tree. `level` answers the timeline's finest level, or null. `other` is the
   * number of the function that stands for paths beyond the limit, or null.
   */
  constructor(columns, tree, level, other = null) {
    Object.assign(this, { columns, tree, level });
    const { start, end } = columns;
    this.width = start.length > 0 ? end[0] - start[0] : 0;
    /** Whether slices follow each other and are equally long. Those of a sampled profile needn't. */
    this.regular = start.every((from, n) => end[n] - from === this.width && (n === 0 || from === end[n - 1]));
    this.walk = new Walk(tree, other);
    /** What is drawn in whole slices, by their numbers. */
    this.drawn = new Map();
  }

  /**
   * The nodes' figures between two moments, in ticks: {total, calls, rest}. `calls` are those that began there; one if it only
   * went on. `rest` says what the ends rest on: "calls", "merged" calls, or "shares" of slices.
   */
  between(from, to) {
    const nodes = this.tree.parent.length;
    const sums = { total: new Float64Array(nodes), calls: new Float64Array(nodes), rest: "calls" };
    const level = this.regular ? this.level() : null;
    const ends = this.endsOf(from, to, level);
    this.addSlices(sums, from, to, ends);
    for (const { part } of ends.values()) {
      for (const [node, [ticks, began]] of part.known) {
        sums.total[node] += ticks;
        sums.calls[node] += began;
      }
    }
    if (sums.rest === "merged") this.fit(sums.total);
    // Where no windows were kept, nothing is known of when.
    if (this.columns.start.length === 0) sums.rest = "shares";
    for (let n = 1; n < nodes; n++) {
      sums.calls[n] = Math.max(Math.round(sums.calls[n]), sums.total[n] > 0 ? 1 : 0);
      if (this.tree.parent[n] === 0) sums.total[0] += sums.total[n];
    }
    return sums;
  }

  /** What is shared out may be more than its caller has there: callees share what it has. */
  fit(total) {
    const { parent } = this.tree;
    const within = new Float64Array(total.length);
    for (let n = 1; n < total.length; n++) within[parent[n]] += total[n];
    // Parents come before children.
    for (let n = 1; n < total.length; n++) {
      const above = parent[n];
      if (above > 0 && within[above] > total[above]) total[n] *= total[above] / within[above];
    }
  }

  /** For the slices that are only partly between the moments (two at most), by number: what is drawn in that part, and in all of it. */
  endsOf(from, to, level) {
    const { start, end } = this.columns;
    const ends = new Map();
    if (!level || start.length === 0) return ends;
    for (const n of new Set([from, to].map((at) => Math.floor((at - start[0]) / this.width)))) {
      const [begin, stop] = [Math.max(from, start[n]), Math.min(to, end[n])];
      if (!(begin < stop) || stop - begin === this.width) continue;
      ends.set(n, { part: this.walk.between(level, begin, stop), whole: this.wholly(level, n), time: (stop - begin) / this.width });
    }
    return ends;
  }

  wholly(level, n) {
    if (this.drawn.level !== level || this.drawn.size >= REMEMBERED) this.drawn = Object.assign(new Map(), { level });
    if (!this.drawn.has(n)) this.drawn.set(n, this.walk.between(level, this.columns.start[n], this.columns.end[n]));
    return this.drawn.get(n);
  }

  /** Adds what is in slices; of those that are only partly between the moments what isn't drawn, as a share. */
  addSlices(sums, from, to, ends) {
    const { start, end, first, slice, ticks, calls: began } = this.columns;
    const { total, calls } = sums;
    const weights = new Float64Array(start.length);
    for (let n = 0; n < start.length; n++) {
      const common = Math.min(end[n], to) - Math.max(start[n], from);
      weights[n] = common > 0 ? Math.min(1, common / (end[n] - start[n])) : 0;
      if (weights[n] > 0 && weights[n] < 1 && !ends.has(n)) sums.rest = "shares";
    }
    for (let node = 0; node + 1 < first.length; node++) {
      for (let at = first[node]; at < first[node + 1]; at++) {
        const weight = weights[slice[at]];
        if (weight === 0) continue;
        const ending = weight < 1 && ends.get(slice[at]);
        if (!ending) {
          total[node] += ticks[at] * weight;
          calls[node] += began[at] * weight;
          continue;
        }
        const [knownTicks, knownCalls] = ending.whole.known.get(node) ?? [0, 0];
        const share = this.share(ending, node);
        const left = Math.max(0, ticks[at] - knownTicks) * share;
        total[node] += left;
        calls[node] += Math.max(0, began[at] - knownCalls) * share;
        if (left > 0 && sums.rest === "calls") sums.rest = "merged";
      }
    }
  }

  /** Of what a slice has and can't be told apart at a node's depth, the share that is in the part that is asked for. */
  share({ part, whole, time }, node) {
    const depth = this.walk.depthOf(node);
    const all = whole.unknown[depth] ?? 0;
    return all > 0 ? Math.min(1, (part.unknown[depth] ?? 0) / all) : time;
  }
}
