// The call tree as a flame graph: a bar per path, as wide as its calls took. It goes from the host down, from functions up to
// their callers, or both ways from one function.
import { Chart } from "./chart.js";
import { h } from "./dom.js";
import { pausedIn } from "./figures.js";
import { percentText, plural } from "./format.js";
import { around, bottomUp, flameRows } from "./trees.js";

const WAYS = [
  ["down", "Top down", "From the host to what it called"],
  ["up", "Bottom up", "From functions, by self time, to who called them"],
  ["around", "Callers and callees", "The selected function; above it who called it, below it what it called"],
];

export class Flame {
  constructor(state, colors, tree, nodes) {
    const { pageData } = state;
    Object.assign(this, { state, pageData, tree, nodes });
    this.nanosPerUnit = pageData.nanosPerTick;
    this.only = [{ name: "", rows: [] }];
    this.extent = 1;
    this.min = Number.MIN_VALUE;
    this.chart = new Chart(this, state, colors, "Flame graph: paths of calls, as wide as they took");
    this.buttons = WAYS.map(([way, title, help]) => h("button", { type: "button", title: help, onclick: () => state.tree.set(way) }, title));
    this.summary = h("output", {});
    this.element = h("section", { class: "view flame" },
      h("div", { class: "bar-of-controls" }, h("div", { class: "choice", role: "group", "aria-label": "Direction" }, ...this.buttons), this.summary),
      this.chart.element);
    this.stale = true;
    const renew = () => {
      this.stale = true;
      if (state.view.value === "flame") this.build();
    };
    state.tree.watch((way) => {
      WAYS.forEach(([name], n) => this.buttons[n].setAttribute("aria-pressed", String(name === way)));
      renew();
    });
    state.figures.watch(renew);
    state.selected.watch(() => state.tree.value === "around" && renew());
    state.view.watch((view) => view === "flame" && this.stale && this.build());
  }

  /** The figures of the nodes: of the selected selection, or of all. */
  get shown() {
    return this.state.figures.value.nodes ?? this.nodes;
  }

  build() {
    this.stale = false;
    const { tree, shown, state } = this;
    const way = state.tree.value;
    const built = way === "up" ? bottomUp(tree, shown)
      : way === "around" ? around(tree, shown, state.selected.value)
      : { rows: flameRows({ parent: tree.parent, func: tree.func, total: shown.total }), extent: shown.total[0] };
    this.paused = pausedIn(tree, new Set(this.pageData.pauses), shown.total);
    this.only = [{ name: "", rows: built.rows }];
    this.middle = built.middle;
    this.extent = Math.max(built.extent, 1);
    this.min = Math.max(this.extent / 1e7, 1 / this.nanosPerUnit);
    this.summary.textContent = this.text(way, built);
    this.chart.renew();
  }

  text(way, { rows, extent }) {
    if (way === "around" && this.state.selected.value === null) return "Select a function: click a bar, a row or a box, or search and press Enter";
    if (rows.length === 0 || extent === 0) return "Nothing ran here";
    if (way === "up") return "Widths are self times; bars below 0.005 % are left out";
    if (way === "around") return `${this.pageData.nameOf(this.state.selected.value)}: ${this.state.figures.value.accuracy.timeText(extent * this.nanosPerUnit)}`;
    return "";
  }

  lanes() {
    return this.only;
  }

  title(row, index) {
    return row.node?.[index] === 0 ? "all calls" : this.pageData.nameOf(row.func[index]);
  }

  describe(row, index) {
    const { self: whole, accuracy } = this.state.figures.value;
    const nanos = (ticks) => accuracy.timeText(ticks * this.nanosPerUnit);
    const shareOf = (ticks) => (ticks * this.nanosPerUnit) / Math.max(1, whole);
    const selfShare = (ticks, calls) => percentText(shareOf(ticks), this.errorOf(row.func[index], shareOf(ticks), calls));
    const isPause = this.pageData.pauses.includes(row.func[index]);
    const length = row.end[index] - row.start[index];
    if (!row.node) {
      const count = Math.round(row.calls[index]);
      const calls = plural(count, "call");
      if (this.state.tree.value !== "up") {
        const part = `${percentText(length / this.extent)} of ${this.pageData.nameOf(this.state.selected.value)}`;
        return [this.title(row, index), `${nanos(length)} (${part})`, `${calls} on these paths`];
      }
      if (isPause) return [this.title(row, index), nanos(length)];
      return [this.title(row, index), `${nanos(length)} (${selfShare(length, count)})`, `self time of ${calls} on these paths`];
    }
    const node = row.node[index];
    const { calls, total, self } = this.shown;
    if (node === 0) return ["all calls", `${nanos(total[0])} in all`];
    if (isPause) return [this.title(row, index), nanos(total[node])];
    const running = percentText(shareOf(total[node] - this.paused[node]));
    return [
      this.title(row, index),
      `${plural(calls[node], "call")} on this path`,
      `total ${nanos(total[node])} (${running}), self ${nanos(self[node])} (${selfShare(self[node], calls[node])})`,
      `${accuracy.meanText((total[node] * this.nanosPerUnit) / Math.max(1, calls[node]), total[node] * this.nanosPerUnit, calls[node])} a call`,
    ];
  }

  /** How far the share of a function's calls on one path may be off, as `Accuracy::path_error` of kperf-profile says. */
  errorOf(func, share, calls) {
    const { accuracy, functions } = this.state.figures.value;
    const { shareError, share: whole } = functions[func] ?? {};
    if (!this.pageData.runs || shareError == null) return accuracy.shareError(share, calls);
    return whole > 0 ? shareError * Math.sqrt(Math.min(1, share / whole)) : shareError;
  }

  /** For a file: a line per bar. */
  lines() {
    const { calls, self } = this.shown;
    const ticks = (value) => Math.round(value * this.nanosPerUnit);
    const lines = this.only[0].rows.flatMap((row, depth) => Array.from(row.func, (_, n) => [
      depth, this.title(row, n), ticks(row.start[n]), ticks(row.end[n] - row.start[n]),
      row.node ? ticks(self[row.node[n]]) : "", Math.round(row.node ? calls[row.node[n]] : row.calls[n])]));
    return [["depth", "function", "left_nanos", "width_nanos", "self_nanos", "calls"], ...lines];
  }
}
