// All functions with their figures, sorted by any of them. Only the rows that are seen are in the page.
import { h, oncePerFrame } from "./dom.js";
import { Value } from "./state.js";
import { countText, percentText } from "./format.js";

const ROW_HEIGHT = 28;

const COLUMNS = [
  { key: "name", title: "Function", help: "The function's name as the source has it" },
  { key: "share", title: "Self %", help: "Its part of all self time", text: (func) => percentText(func.share, func.shareError) },
  { key: "self", title: "Self", help: "Time in the function itself", text: (func, accuracy) => accuracy.timeText(func.self) },
  { key: "total", title: "Total", help: "Time from enter to leave, recursion counted once", text: (func, accuracy) => accuracy.timeText(func.total) },
  { key: "calls", title: "Calls", help: "How often it was called", text: (func) => countText(func.calls) },
  { key: "average", title: "Average", help: "Mean length of a call", text: (func, accuracy) => (Number.isNaN(func.average) ? "-" : accuracy.meanText(func.average, func.total, func.calls)) },
  { key: "min", title: "Shortest", help: "The shortest call", text: (func, accuracy) => known(func.min, accuracy) },
  { key: "max", title: "Longest", help: "The longest call", text: (func, accuracy) => known(func.max, accuracy) },
];

/** The shortest and the longest call are known for the whole run of a trace only. */
function known(nanos, accuracy) {
  return Number.isNaN(nanos) ? "-" : accuracy.callText(nanos);
}

export class FunctionTable {
  constructor(state, colors) {
    Object.assign(this, { state, colors });
    /** The column that it is sorted by, and whether the largest come first. */
    this.order = new Value({ key: "self", descending: true });
    this.heads = COLUMNS.map((column) => this.head(column));
    this.body = h("tbody");
    this.table = h("table", { class: "functions" }, h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    this.scroller = h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Functions" }, this.table);
    this.element = h("section", { class: "view table" }, this.scroller);
    this.redraw = oncePerFrame(() => this.draw());
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
    for (const value of [state.matches, state.figures, this.order]) value.watch(() => this.choose());
    state.selected.watch(() => this.redraw());
    state.theme.watch(() => this.redraw());
  }

  head(column) {
    const button = h("button", { type: "button", title: column.help, onclick: () => this.sortBy(column.key) }, column.title);
    return h("th", { scope: "col", class: column.text ? "number" : "" }, button);
  }

  sortBy(key) {
    const before = this.order.value;
    this.order.set({ key, descending: before.key === key ? !before.descending : key !== "name" });
    this.scroller.scrollTop = 0;
  }

  /** Picks the functions that are searched for and that ran in the selected selection, in order. */
  choose() {
    const matches = this.state.matches.value;
    const { functions, whole } = this.state.figures.value;
    const { key, descending } = this.order.value;
    const known = (value) => (Number.isNaN(value) ? -1 : value);
    const ascending = key === "name" ? (a, b) => a.name.localeCompare(b.name) : (a, b) => known(a[key]) - known(b[key]);
    const order = descending ? (a, b) => ascending(b, a) : ascending;
    const shown = functions.filter((func) => (!matches || matches[func.index]) && (whole || func.calls > 0));
    this.rows = shown.sort((a, b) => order(a, b) || a.index - b.index);
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    COLUMNS.forEach((column, n) => {
      const sorted = column.key === key ? (descending ? "descending" : "ascending") : "none";
      this.heads[n].setAttribute("aria-sort", sorted);
    });
    this.redraw();
  }

  /** For a file: a line per function, all of them in the table's order; times in nanoseconds. */
  lines() {
    const nanos = (value) => (Number.isNaN(value) ? "" : Math.round(value));
    const line = ({ name, module, place, calls, self, total, share, shareError, average, min, max, counted }) =>
      [name, module, calls, ...(counted ? ["", "", "", "", "", "", ""] : [nanos(self), nanos(total), Number.isNaN(share) ? "" : share.toFixed(6), shareError === null ? "" : shareError.toFixed(6), Number.isNaN(average) ? "" : average.toFixed(1), nanos(min), nanos(max)]), place];
    return [["function", "module", "calls", "self_nanos", "total_nanos", "self_share", "self_share_error", "average_nanos", "min_nanos", "max_nanos", "place"], ...this.rows.map(line)];
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    if (clientHeight === 0) return;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - 8);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + 8);
    const spacer = (rows) => h("tr", { class: "spacer", "aria-hidden": "true", style: `height:${rows * ROW_HEIGHT}px` });
    const shown = this.rows.slice(first, last).map((func, n) => this.row(func, first + n));
    this.body.replaceChildren(spacer(first), ...shown, spacer(this.rows.length - last));
    if (this.rows.length === 0) {
      this.body.replaceChildren(h("tr", {}, h("td", { colspan: COLUMNS.length, class: "none" }, this.state.matches.value ? "No function here has that in its name." : "Nothing ran here.")));
    }
  }

  row(func, place) {
    const selected = this.state.selected.value === func.index;
    const cells = COLUMNS.map((column) => {
      if (!column.text) {
        const swatch = h("i", { class: "swatch", style: `background:${this.colors.fill(func.index)}` });
        return h("th", { scope: "row", title: func.name }, swatch, func.name);
      }
      const bar = column.key === "share" && !Number.isNaN(func.share) ? `--share:${(func.share * 100).toFixed(2)}%` : null;
      return h("td", { class: bar ? "number bar" : "number", style: bar }, func.counted && column.key !== "calls" ? "-" : column.text(func, this.state.figures.value.accuracy));
    });
    const choose = () => this.state.selected.set(selected ? null : func.index);
    return h("tr", { "aria-rowindex": place + 2, "aria-selected": String(selected), onclick: choose }, ...cells);
  }

  /** Up and down choose a row; the row is scrolled into view. */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || this.rows.length === 0) return;
    event.preventDefault();
    const at = this.rows.findIndex((func) => func.index === this.state.selected.value);
    const next = at < 0 ? 0 : Math.min(this.rows.length - 1, Math.max(0, at + step));
    this.state.selected.set(this.rows[next].index);
    const top = next * ROW_HEIGHT;
    const seen = this.scroller.clientHeight - ROW_HEIGHT * 2;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    if (top > this.scroller.scrollTop + seen) this.scroller.scrollTop = top - seen;
  }
}
