// The calls over time, by lane and depth, in the level of detail that the zoom needs.
import { Chart } from "./chart.js";
import { readLevel, sectionBytes } from "./data.js";
import { h } from "./dom.js";
import { nanosText, plural } from "./format.js";
import { Overview } from "./overview.js";

export class Timeline {
  constructor(state, colors) {
    const { sheet } = state;
    this.sheet = sheet;
    /** Levels that are there, the finest first; coarser ones come in first. */
    this.levels = [];
    this.extent = Math.max(1, sheet.wallTicks);
    this.nanosPerUnit = sheet.nanosPerTick;
    // A few nanoseconds, or a few ticks of a coarse clock.
    this.least = Math.max(8 / this.nanosPerUnit, 4);
    this.chart = new Chart(this, state, colors, "Timeline of the calls, by lane and depth");
    this.overview = new Overview(this, colors, state);
    this.element = h("section", { class: "view timeline" }, this.overview.element, this.chart.element);
  }

  /** Brings in all levels, the coarsest first, so that something can be seen at once. */
  async load() {
    for (let n = this.sheet.levels.length - 1; n >= 0; n--) {
      const lanes = readLevel(await sectionBytes(`level-${n}`));
      const named = lanes.map((rows, lane) => ({ name: this.laneName(lane), rows: rows.filter((row) => row.start.length > 0) }));
      this.levels.unshift({ resolution: this.sheet.levels[n].resolutionTicks, lanes: named });
      this.chart.redraw();
      this.overview.redraw();
    }
  }

  laneName(lane) {
    const { name, calls } = this.sheet.lanes[lane] ?? { name: "?", calls: 0 };
    return `lane ${name} · ${plural(calls, "call")}`;
  }

  /** The coarsest level that looks no different from the calls themselves. */
  lanes(unitsPerPixel) {
    const fine = this.levels.findLast((level) => level.resolution <= unitsPerPixel * 0.75) ?? this.levels[0];
    return fine?.lanes ?? [];
  }

  title(row, index) {
    return this.sheet.nameOf(row.func[index]);
  }

  describe(row, index) {
    const nanos = (row.end[index] - row.start[index]) * this.nanosPerUnit;
    const at = `at ${nanosText(row.start[index] * this.nanosPerUnit)}`;
    const calls = row.calls[index];
    const name = this.title(row, index);
    if (calls === 1) return [name, `${nanosText(nanos)}, ${at}`];
    return [name, `${plural(calls, "call")} within ${nanosText(nanos)}, ${at}`, "the longest is named; zoom in to tell them apart"];
  }

  drawn() {
    this.overview.redraw();
  }
}
