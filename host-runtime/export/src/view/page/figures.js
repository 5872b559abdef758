// The figures of functions and of who calls whom, summed up from the nodes of the call tree.
import { Accuracy } from "./accuracy.js";

/** The parts of the call tree that don't depend on the selection: callers and callees, and which nodes count once. */
export class Tree {
  /** `parent` and `func` are the flame graph's columns; functions are numbered up to `outside`, the host. */
  constructor({ parent, func }, outside) {
    const count = parent.length;
    Object.assign(this, { parent, func, outside });
    const { firstChild, nextSibling } = links(parent);
    Object.assign(this, { firstChild, nextSibling });
    /** Where a node's caller and callee are in `edges`; -1 where it has none. */
    this.edgeOf = new Int32Array(count).fill(-1);
    this.edges = [];
    /** Whether no call of the same function, or of the same edge, is further out. */
    this.outermost = new Uint8Array(count);
    this.outermostEdge = new Uint8Array(count);
    const places = new Map();
    for (let n = 1; n < count; n++) {
      if (func[n] >= outside) continue;
      const key = func[parent[n]] * (outside + 1) + func[n];
      if (!places.has(key)) {
        places.set(key, this.edges.length);
        this.edges.push({ from: func[parent[n]], to: func[n] });
      }
      this.edgeOf[n] = places.get(key);
    }
    this.findOutermost();
  }

  findOutermost() {
    const { func, parent, firstChild, nextSibling, edgeOf } = this;
    const open = new Uint32Array(this.outside + 1);
    const openEdges = new Uint32Array(this.edges.length);
    let node = firstChild[0];
    while (node > 0) {
      if (open[func[node]]++ === 0) this.outermost[node] = 1;
      if (edgeOf[node] >= 0 && openEdges[edgeOf[node]]++ === 0) this.outermostEdge[node] = 1;
      if (firstChild[node] > 0) {
        node = firstChild[node];
        continue;
      }
      while (node > 0) {
        open[func[node]]--;
        if (edgeOf[node] >= 0) openEdges[edgeOf[node]]--;
        if (nextSibling[node] > 0) {
          node = nextSibling[node];
          break;
        }
        node = parent[node];
      }
    }
  }

  /** The children of a node, in their order. */
  *children(node) {
    for (let child = this.firstChild[node]; child > 0; child = this.nextSibling[child]) yield child;
  }
}

function links(parent) {
  const firstChild = new Uint32Array(parent.length);
  const nextSibling = new Uint32Array(parent.length);
  // From behind, so that each is put in front of its later siblings.
  for (let n = parent.length - 1; n > 0; n--) {
    nextSibling[n] = firstChild[parent[n]];
    firstChild[parent[n]] = n;
  }
  return { firstChild, nextSibling };
}

/**
 * The figures of a range of time, from those of the nodes (`total` in ticks, `calls`): {functions, edges, nodes, self, accuracy, whole}, as the
 * pageData has them for all of the run. The shortest and the longest call are not known.
 */
export function figuresOf(tree, pageData, { total, calls }) {
  const self = total.slice();
  for (let n = 1; n < total.length; n++) self[tree.parent[n]] -= total[n];
  for (let n = 0; n < self.length; n++) self[n] = Math.max(0, self[n]);
  self[0] = 0;
  const nanos = pageData.nanosPerTick;
  const pauses = new Set(pageData.pauses);
  const paused = pausedIn(tree, pauses, total);
  const functions = pageData.functions.map((func) => ({
    ...func, calls: 0, total: 0, running: 0, self: 0, ofAllCalls: 0, average: 0, min: NaN, max: NaN, cutShort: 0, callers: [], callees: [],
  }));
  const edges = tree.edges.map((edge) => ({ ...edge, calls: 0, total: 0 }));
  let all = 0;
  for (let n = 1; n < total.length; n++) {
    const func = functions[tree.func[n]];
    if (!func) continue;
    func.calls += calls[n];
    func.self += self[n] * nanos;
    func.ofAllCalls += total[n] * nanos;
    if (tree.outermost[n]) {
      func.total += total[n] * nanos;
      func.running += (total[n] - paused[n]) * nanos;
    }
    if (!pauses.has(tree.func[n])) all += self[n] * nanos;
    const edge = edges[tree.edgeOf[n]];
    edge.calls += calls[n];
    if (tree.outermostEdge[n]) edge.total += total[n] * nanos;
  }
  const accuracy = new Accuracy(pageData.precision, Math.min(1, all / Math.max(1, pageData.selfNanos)));
  for (const func of functions) {
    func.average = func.calls > 0 ? func.ofAllCalls / func.calls : pauses.has(func.index) ? NaN : 0;
    if (!Number.isNaN(func.share)) func.share = all > 0 ? func.self / all : 0;
    func.shareError = accuracy.shareError(func.share, func.calls);
  }
  const seen = edges.filter((edge) => edge.calls > 0 || edge.total > 0).sort((a, b) => b.total - a.total);
  for (const edge of seen) {
    functions[edge.from]?.callees.push(edge);
    functions[edge.to]?.callers.push(edge);
  }
  return { functions, edges: seen, nodes: { total, self, calls }, self: all, accuracy, whole: false };
}

/** The part of each node's total in the recorder and in waits. */
export function pausedIn(tree, pauses, total) {
  const paused = new Float64Array(total.length);
  for (let n = total.length - 1; n > 0; n--) {
    if (pauses.has(tree.func[n])) paused[n] = total[n];
    paused[tree.parent[n]] += paused[n];
  }
  return paused;
}
