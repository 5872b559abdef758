// The call tree's paths as rows of bars: from the host down, from each function up to its callers, around one function.

/** No more bars than this, and none narrower than this part of all: they could not be seen. */
const MOST_BARS = 50_000;
const NARROWEST = 1 / 20_000;

/** The nodes as rows of bars by depth, siblings from the longest to the shortest. */
export function flameRows({ parent, func, total }) {
  const children = Array.from({ length: parent.length }, () => null);
  for (let n = 1; n < parent.length; n++) if (total[n] > 0) (children[parent[n]] ??= []).push(n);
  const rows = [];
  let level = parent.length > 0 ? [[0, 0]] : [];
  while (level.length > 0) {
    const row = {
      start: Float64Array.from(level, ([, start]) => start),
      end: Float64Array.from(level, ([node, start]) => start + total[node]),
      func: Uint32Array.from(level, ([node]) => func[node]),
      node: Uint32Array.from(level, ([node]) => node),
    };
    rows.push(row);
    const next = [];
    for (const [node, start] of level) {
      let at = start;
      for (const child of (children[node] ?? []).sort((a, b) => total[b] - total[a])) {
        next.push([child, at]);
        at += total[child];
      }
    }
    level = next;
  }
  return rows;
}

/** Functions by their self time, and below each who called it on which path: {rows, extent}. */
export function bottomUp(tree, { self, calls }) {
  const members = [];
  for (let n = 1; n < self.length; n++) if (self[n] > 0 && tree.func[n] < tree.outside) members.push({ of: n, at: n });
  return grow(tree, members, self, calls, (member) => callerOf(tree, member));
}

/** One function in the middle; above it who called it on which path, below it what it called: {rows, extent}. */
export function around(tree, { total, calls }, func) {
  const members = [];
  for (let n = 1; n < total.length; n++) if (tree.func[n] === func && tree.outermost[n] && total[n] > 0) members.push({ of: n, at: n });
  const above = grow(tree, members, total, calls, (member) => callerOf(tree, member));
  const below = grow(tree, members, total, calls, ({ at }) => Array.from(tree.children(at), (child) => ({ of: child, at: child })));
  return { rows: [...above.rows.slice(1).reverse(), ...below.rows], extent: below.extent, middle: above.rows.length - 1 };
}

function callerOf({ parent }, { of, at }) {
  return parent[at] === 0 ? [] : [{ of, at: parent[at] }];
}

/**
 * Groups members by the function that they are at, and goes on with what `next` answers for each. A member is a node `of` which it has
 * its time and calls, and a node `at` which it stands.
 */
function grow(tree, members, time, calls, next) {
  const grouped = (members, start) => {
    const groups = new Map();
    for (const member of members) {
      const func = tree.func[member.at];
      if (!groups.has(func)) groups.set(func, { func, time: 0, calls: 0, members: [] });
      const group = groups.get(func);
      group.time += time[member.of];
      group.calls += calls[member.of];
      group.members.push(member);
    }
    const sorted = [...groups.values()].filter((group) => group.time > least).sort((a, b) => b.time - a.time);
    for (const group of sorted) {
      group.start = start;
      start += group.time;
    }
    return sorted;
  };
  const extent = members.reduce((sum, { of }) => sum + time[of], 0);
  const least = extent * NARROWEST;
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
    level = level.flatMap((group) => grouped(group.members.flatMap(next), group.start));
  }
  return { rows, extent };
}
