// The call tree as a flame graph: a bar per path, as wide as its calls took; what it called hangs below.
import { Chart } from "./chart.js";
import { h } from "./dom.js";
import { nanosText, percentText, plural } from "./format.js";

export class Flame {
  constructor(state, colors, nodes) {
    const { sheet } = state;
    Object.assign(this, { sheet, nodes });
    this.extent = Math.max(1, nodes.total[0]);
    this.nanosPerUnit = sheet.nanosPerTick;
    this.least = Math.max(this.extent / 1e7, 1 / this.nanosPerUnit);
    this.only = [{ name: "", rows: flameRows(nodes) }];
    this.chart = new Chart(this, state, colors, "Flame graph: paths of calls, as wide as they took");
    this.element = h("section", { class: "view flame" }, this.chart.element);
  }

  lanes() {
    return this.only;
  }

  title(row, index) {
    return row.node[index] === 0 ? "all calls" : this.sheet.nameOf(row.func[index]);
  }

  describe(row, index) {
    const node = row.node[index];
    const { calls, total, self } = this.nodes;
    const nanos = (ticks) => nanosText(ticks * this.nanosPerUnit);
    const share = percentText(total[node] / this.extent);
    if (node === 0) return ["all calls", `${nanos(total[0])} in all`];
    return [
      this.title(row, index),
      `${plural(calls[node], "call")} on this path`,
      `total ${nanos(total[node])} (${share}), self ${nanos(self[node])}`,
      `${nanos(total[node] / Math.max(1, calls[node]))} a call`,
    ];
  }
}

/** The nodes as rows of bars by depth, siblings from the longest to the shortest. */
export function flameRows({ parent, func, total }) {
  const children = Array.from({ length: parent.length }, () => null);
  for (let n = 1; n < parent.length; n++) (children[parent[n]] ??= []).push(n);
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
