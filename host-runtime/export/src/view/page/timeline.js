// The calls over time, by lane and depth, in the level of detail that the zoom needs.
import { Chart } from "./chart.js";
import { readLevel, sectionBytes } from "./data.js";
import { h } from "./dom.js";
import { momentText, nanosText, plural } from "./format.js";
import { MemoryStrip } from "./memory.js";
import { Overview } from "./overview.js";

export class Timeline {
  constructor(state, colors) {
    const { pageData } = state;
    Object.assign(this, { state, pageData });
    /** Levels that are there, the finest first; coarser ones come in first. */
    this.levels = [];
    this.extent = Math.max(1, pageData.wallTicks);
    this.nanosPerUnit = pageData.nanosPerTick;
    // A few nanoseconds, or a few ticks of a coarse clock.
    this.min = Math.max(8 / this.nanosPerUnit, 4);
    this.chart = new Chart(this, state, colors, "Timeline of the calls, by lane and depth");
    this.overview = new Overview(this, colors, state);
    this.memory = pageData.memory ? new MemoryStrip(this, state) : null;
    state.selection.watch(() => this.chart.redraw());
    this.element = h("section", { class: "view timeline" }, this.overview.element, ...(this.memory ? [this.memory.element] : []), this.chart.element);
  }

  /** Brings in all levels, the coarsest first, so that something can be seen at once. */
  async load() {
    for (let n = this.pageData.levels.length - 1; n >= 0; n--) {
      const lanes = readLevel(await sectionBytes(`level-${n}`));
      const named = lanes.map((rows, lane) => ({ name: this.laneName(lane), rows: rows.filter((row) => row.start.length > 0).map((row) => ({ ...row, merged: row.calls })) }));
      this.levels.unshift({ resolution: this.pageData.levels[n].resolutionTicks, lanes: named });
      this.chart.redraw();
      this.overview.redraw();
    }
  }

  /** The selected selection. */
  get selection() {
    return this.state.selection.value;
  }

  /** Selects a range, {start, end}, or none; no less than the axis can show. */
  select(selection) {
    const long = selection && selection.end - selection.start >= Math.min(this.min, this.extent) / 4;
    this.state.selection.set(long ? selection : null);
  }

  laneName(lane) {
    const { name, calls } = this.pageData.lanes[lane] ?? { name: "?", calls: 0 };
    return `lane ${name} · ${plural(calls, "call")}`;
  }

  /** The coarsest level that looks no different from the calls themselves. */
  lanes(unitsPerPixel) {
    const fine = this.levels.findLast((level) => level.resolution <= unitsPerPixel * 0.75) ?? this.levels[0];
    return fine?.lanes ?? [];
  }

  title(row, index) {
    const calls = row.calls[index];
    return calls === 1 ? this.pageData.nameOf(row.func[index]) : `${plural(calls, "call")}, ${this.pageData.nameOf(row.func[index])}`;
  }

  describe(row, index) {
    const nanos = (row.end[index] - row.start[index]) * this.nanosPerUnit;
    const from = (row.start[index] - this.chart.origin) * this.nanosPerUnit;
    const at = `at ${momentText(from, Math.max(this.chart.fineness, this.nanosPerUnit))}${this.selection ? " of the selection" : ""}`;
    const calls = row.calls[index];
    const name = this.pageData.nameOf(row.func[index]);
    if (calls === 1) return [name, `${this.state.figures.value.accuracy.callText(nanos)}, ${at}`];
    const finest = this.levels[0]?.lanes === this.lanes(this.chart.viewport.width / this.chart.width);
    return [name, `${plural(calls, "call")} within ${nanosText(nanos)}, ${at}`, finest ? "the longest is named; this page has them together" : "the longest is named; zoom in to tell them apart"];
  }

  /** For a file: a line per bar that is seen. */
  lines() {
    const { viewport, placed } = this.chart;
    const nanos = (ticks) => Math.round(ticks * this.nanosPerUnit);
    const lines = (placed ?? []).flatMap(({ rows }, lane) => rows.flatMap((row, depth) => Array.from(row.start, (_, n) => n)
      .filter((n) => row.end[n] > viewport.start && row.start[n] < viewport.end)
      .map((n) => [this.pageData.lanes[lane]?.name ?? "", depth, this.pageData.nameOf(row.func[n]), nanos(row.start[n]), nanos(row.end[n] - row.start[n]), row.calls[n]])));
    return [["lane", "depth", "function", "start_nanos", "length_nanos", "calls"], ...lines];
  }

  drawn() {
    this.overview.redraw();
    this.memory?.redraw();
  }

  /** What is seen has changed. `onMove` is told. */
  moved() {
    this.onMove?.();
  }
}
