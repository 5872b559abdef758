// The call tree's paths as rows of bars: from the host down, from each function up to its callers, around one function.

/** No more bars than this, and none narrower than this part of all: they could not be seen. */
const MOST_BARS = 50_000;
const NARROWEST = 1 / 20_000;

/** The nodes as rows of bars by depth, siblings from the longest to the shortest. There may be half a million: no object for each. */
export function flameRows({ parent, func, total }) {
  const { first, ids } = childrenOf(parent);
  const rows = [];
  let level = parent.length > 0 ? { node: Uint32Array.of(0), start: Float64Array.of(0) } : { node: [] };
  while (level.node.length > 0) {
    const { node, start } = level;
    rows.push({ start, end: start.map((at, n) => at + total[node[n]]), func: Uint32Array.from(node, (node) => func[node]), node });
    let max = 0;
    for (const at of node) max += first[at + 1] - first[at];
    const next = { node: new Uint32Array(max), start: new Float64Array(max) };
    let count = 0;
    for (let n = 0; n < node.length; n++) {
      const from = count;
      for (let at = first[node[n]]; at < first[node[n] + 1]; at++) if (total[ids[at]] > 0) next.node[count++] = ids[at];
      if (count - from > 1) next.node.subarray(from, count).sort((a, b) => total[b] - total[a]);
      for (let at = from, begin = start[n]; at < count; at++) {
        next.start[at] = begin;
        begin += total[next.node[at]];
      }
    }
    level = { node: next.node.subarray(0, count), start: next.start.subarray(0, count) };
  }
  return rows;
}

/** Every node's children, in their order: those of `node` are in `ids` from `first[node]` to `first[node + 1]`. */
function childrenOf(parent) {
  const first = new Uint32Array(parent.length + 1);
  for (let n = 1; n < parent.length; n++) first[parent[n] + 1]++;
  for (let n = 1; n < first.length; n++) first[n] += first[n - 1];
  const ids = new Uint32Array(Math.max(0, parent.length - 1));
  const next = first.slice();
  for (let n = 1; n < parent.length; n++) ids[next[parent[n]]++] = n;
  return { first, ids };
}

/** Functions by their self time, and below each who called it on which path: {rows, extent}. */
export function bottomUp(tree, { self, calls }) {
  const of = new Uint32Array(self.length);
  let count = 0;
  for (let n = 1; n < self.length; n++) if (self[n] > 0 && tree.func[n] < tree.outside) of[count++] = n;
  const members = of.subarray(0, count);
  return grow(tree, { of: members, at: members }, self, calls, callersOf);
}

/** One function in the middle; above it who called it on which path, below it what it called: {rows, extent}. */
export function around(tree, { total, calls }, func) {
  const of = [];
  for (let n = 1; n < total.length; n++) if (tree.func[n] === func && tree.outermost[n] && total[n] > 0) of.push(n);
  const above = grow(tree, { of, at: of }, total, calls, callersOf);
  const below = grow(tree, { of, at: of }, total, calls, calleesOf);
  return { rows: [...above.rows.slice(1).reverse(), ...below.rows], extent: below.extent, middle: above.rows.length - 1 };
}

/** Members that stand where those of a group were called from. */
function callersOf({ parent }, { of, at }) {
  const next = { of: new Uint32Array(of.length), at: new Uint32Array(of.length) };
  let count = 0;
  for (let n = 0; n < of.length; n++) {
    if (parent[at[n]] === 0) continue;
    next.of[count] = of[n];
    next.at[count++] = parent[at[n]];
  }
  return { of: next.of.subarray(0, count), at: next.at.subarray(0, count) };
}

/** Members that stand for what those of a group called. */
function calleesOf(tree, { at }) {
  const of = [];
  for (const node of at) for (const child of tree.children(node)) of.push(child);
  return { of, at: of };
}

/**
 * Groups members by the function that they are at, and goes on with those that `next` answers for each group. A member is a node `of`
 * which it has its time and calls, and a node `at` which it stands: two columns.
 */
function grow(tree, members, time, calls, next) {
  let extent = 0;
  for (const of of members.of) extent += time[of];
  const min = extent * NARROWEST;
  /** By function, where its group is; -1 between two uses. */
  const places = new Int32Array(tree.outside + 1).fill(-1);
  const grouped = ({ of, at }, start) => {
    const groups = [];
    for (let n = 0; n < of.length; n++) {
      const func = tree.func[at[n]];
      if (places[func] < 0) places[func] = groups.push({ func, time: 0, calls: 0, count: 0, kept: false }) - 1;
      const group = groups[places[func]];
      group.time += time[of[n]];
      group.calls += calls[of[n]];
      group.count++;
    }
    const sorted = groups.filter((group) => group.time > min).sort((a, b) => b.time - a.time);
    for (const group of sorted) {
      group.start = start;
      start += group.time;
      Object.assign(group, { of: new Uint32Array(group.count), at: new Uint32Array(group.count), count: 0, kept: true });
    }
    for (let n = 0; n < of.length; n++) {
      const group = groups[places[tree.func[at[n]]]];
      if (!group.kept) continue;
      group.of[group.count] = of[n];
      group.at[group.count++] = at[n];
    }
    for (const { func } of groups) places[func] = -1;
    return sorted;
  };
  const rows = [];
  let bars = 0;
  for (let level = grouped(members, 0); level.length > 0 && bars < MOST_BARS; ) {
    bars += level.length;
    rows.push({
      start: Float64Array.from(level, (group) => group.start),
      end: Float64Array.from(level, (group) => group.start + group.time),
      func: Uint32Array.from(level, (group) => group.func),
      calls: Float64Array.from(level, (group) => group.calls),
    });
    level = level.flatMap((group) => grouped(next(tree, group), group.start));
  }
  return { rows, extent };
}
