// The nodes of the call tree for the calls that a timeline draws.
import { firstAbove } from "./viewport.js";

/** No node: the path is not known, since calls are drawn together on it. */
const UNKNOWN = -1;

export class Walk {
  /** `other` is the number of the function that stands for paths beyond the limit, or null. */
  constructor(tree, other) {
    Object.assign(this, { tree, other });
  }

  /** How many calls are around a node's. */
  depthOf(node) {
    if (!this.depths) {
      const { parent } = this.tree;
      // Parents come before children. The root is around no call.
      this.depths = new Int32Array(parent.length).fill(-1);
      for (let n = 1; n < parent.length; n++) this.depths[n] = this.depths[parent[n]] + 1;
    }
    return this.depths[node];
  }

  /**
   * What is drawn between two moments: `known`, the ticks and the calls that began there by node, of calls that are drawn alone in
   * calls that are drawn alone; and `unknown`, the ticks of all others by depth.
   */
  between({ lanes }, from, to) {
    const found = { known: new Map(), unknown: [] };
    for (const { rows } of lanes) {
      let outer = null;
      for (const [depth, row] of rows.entries()) {
        outer = this.row(row, outer, depth, from, to, found);
        if (outer.nodes.length === 0) break;
      }
    }
    return found;
  }

  /** One row; `outer` is what this answered for the row above: the row, its first span in sight, the nodes of those that follow. */
  row(row, outer, depth, from, to, { known, unknown }) {
    const { start, end, func, calls } = row;
    let first = firstAbove(end, from);
    // A call without a length, at the very beginning.
    while (first > 0 && start[first - 1] === from && end[first - 1] === from) first--;
    const nodes = [];
    let at = 0;
    for (let n = first; n < start.length && start[n] < to; n++) {
      let above = 0;
      if (outer) {
        const ends = outer.row.end;
        while (at + 1 < outer.nodes.length && (ends[outer.first + at] < start[n] || (ends[outer.first + at] === start[n] && end[n] > start[n]))) at++;
        above = outer.nodes[at] ?? UNKNOWN;
      }
      const node = above === UNKNOWN || calls[n] > 1 ? UNKNOWN : this.childOf(above, func[n]);
      nodes.push(node);
      const ticks = Math.min(end[n], to) - Math.max(start[n], from);
      if (node === UNKNOWN) {
        unknown[depth] = (unknown[depth] ?? 0) + ticks;
        continue;
      }
      if (!known.has(node)) known.set(node, [0, 0]);
      const sums = known.get(node);
      // The time of what is in the node of others is that of the outermost of them.
      if (node !== above) sums[0] += ticks;
      if (start[n] >= from) sums[1]++;
    }
    return { row, first, nodes };
  }

  /** The node of a function that was called from a node. */
  childOf(parent, func) {
    const { tree, other } = this;
    if (!this.children) {
      this.children = new Map();
      for (let n = 1; n < tree.parent.length; n++) this.children.set(tree.parent[n] * (tree.outside + 1) + tree.func[n], n);
    }
    const child = (func) => this.children.get(parent * (tree.outside + 1) + func);
    const found = child(func);
    if (found !== undefined || other === null) return found ?? UNKNOWN;
    return tree.func[parent] === other ? parent : child(other) ?? UNKNOWN;
  }
}
