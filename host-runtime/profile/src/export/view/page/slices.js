// What ran in a stretch of time: whole slices of the run, and at both ends the calls that are drawn there.
import { firstAbove } from "./viewport.js";

/** Where calls are drawn together up to so much of a slice, a slice's share says more than they do. */
const FINE = 1 / 8;

export class Slices {
  /** `columns` is what `readSlices` answers, `tree` the call tree. `level` answers the timeline's finest level, or null. */
  constructor(columns, tree, level) {
    Object.assign(this, { columns, tree, level });
    const { start, end } = columns;
    this.width = start.length > 0 ? end[0] - start[0] : 0;
    /** Whether slices follow each other and are equally long. Those of a sampled profile needn't. */
    this.regular = start.every((from, n) => end[n] - from === this.width && (n === 0 || from === end[n - 1]));
  }

  /**
   * The nodes' figures between two moments, in ticks: {total, calls, rest}. `calls` are those that began there; one if it only
   * went on. `rest` says what the ends rest on: "calls", "merged" calls, or "shares" of slices.
   */
  between(from, to) {
    const nodes = this.tree.parent.length;
    const sums = { total: new Float64Array(nodes), calls: new Float64Array(nodes), rest: "calls" };
    const ends = this.endsOf(from, to);
    this.addSlices(sums, from, to, ends === null);
    if (ends === null) sums.rest = "shares";
    else if (ends.map(([start, end]) => this.addCalls(sums, start, end)).includes(true)) sums.rest = "merged";
    if (sums.rest === "merged") this.fit(sums.total);
    for (let n = 1; n < nodes; n++) {
      sums.calls[n] = Math.max(Math.round(sums.calls[n]), sums.total[n] > 0 ? 1 : 0);
      if (this.tree.parent[n] === 0) sums.total[0] += sums.total[n];
    }
    return sums;
  }

  /** Calls that are drawn together count as the longest of them, which may be more than their caller has: they share what it has. */
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

  /** The parts that are no whole slices, [start, end]; null if the calls that are drawn are too coarse for them. */
  endsOf(from, to) {
    const { start, end } = this.columns;
    const level = this.level();
    if (!this.regular || !level || (level.resolution > 1 && level.resolution > this.width * FINE)) return null;
    const inner = start.length === 0 ? from : start[0] + Math.ceil((from - start[0]) / this.width) * this.width;
    const outer = start.length === 0 ? from : start[0] + Math.floor((to - start[0]) / this.width) * this.width;
    if (outer <= inner || inner > end.at(-1)) return [[from, to]];
    return [[from, inner], [outer, to]].filter(([begin, stop]) => begin < stop);
  }

  /** Adds what is in slices; of those that are only partly between the moments that part, or nothing. */
  addSlices({ total, calls }, from, to, parts) {
    const { start, end, first, slice, ticks, calls: began } = this.columns;
    const weights = new Float64Array(start.length);
    for (let n = 0; n < start.length; n++) {
      const common = Math.min(end[n], to) - Math.max(start[n], from);
      const weight = common > 0 ? Math.min(1, common / (end[n] - start[n])) : 0;
      weights[n] = parts || weight === 1 ? weight : 0;
    }
    for (let node = 0; node + 1 < first.length; node++) {
      for (let at = first[node]; at < first[node + 1]; at++) {
        const weight = weights[slice[at]];
        if (weight === 0) continue;
        total[node] += ticks[at] * weight;
        calls[node] += began[at] * weight;
      }
    }
  }

  /** Adds the calls that are drawn. Answers whether some of them are drawn together: these count as the longest of them. */
  addCalls({ total, calls }, from, to) {
    let merged = false;
    for (const { rows } of this.level().lanes) {
      let outer = null;
      for (const row of rows) {
        const { start, end, func } = row;
        const first = firstAbove(end, from);
        const found = [];
        let at = 0;
        for (let n = first; n < start.length && start[n] < to; n++) {
          let parent = 0;
          if (outer) {
            while (at + 1 < outer.found.length && outer.row.end[outer.first + at] <= start[n]) at++;
            parent = outer.found[at] ?? -1;
          }
          const node = parent < 0 ? -1 : this.childOf(parent, func[n]);
          found.push(node);
          if (row.calls[n] > 1) merged = true;
          if (node < 0) continue;
          total[node] += Math.min(end[n], to) - Math.max(start[n], from);
          if (start[n] >= from) calls[node] += row.calls[n];
        }
        if (found.length === 0) break;
        outer = { row, first, found };
      }
    }
    return merged;
  }

  /** The node of a function that was called from a node; -1 if there is none. */
  childOf(parent, func) {
    if (!this.children) {
      this.children = new Map();
      const { tree } = this;
      for (let n = 1; n < tree.parent.length; n++) this.children.set(tree.parent[n] * (tree.outside + 1) + tree.func[n], n);
    }
    return this.children.get(parent * (this.tree.outside + 1) + func) ?? -1;
  }
}
