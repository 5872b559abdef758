// Bars in rows on a common axis, on a canvas: what the timeline and the flame graph are drawn with.
import { Viewport, firstAbove } from "./viewport.js";
import { byId, h, keepsStill, oncePerFrame } from "./dom.js";
import { axisStep, momentText, shortName } from "./format.js";
import { AXIS, listenTo } from "./input.js";

const ROW = 20;
const LANE_HEAD = 22;
const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/**
 * A chart of bars. `source` answers what is drawn:
 *   extent, least    of the axis, in its own units, and the narrowest part of it that can be looked at
 *   nanosPerUnit     for the axis' texts
 *   lanes(unitsPerPixel)   [{name, rows: [{start, end, func, ..}]}]: columns in the order of the axis
 *   title(row, index)      what a bar says
 *   describe(row, index)   lines for its tooltip
 *   select(start, end)     optional: a part of the axis was selected; `selection` is the one that is, {start, end}, or null
 */
export class Chart {
  constructor(source, state, colors, label) {
    Object.assign(this, { source, state, colors });
    this.viewport = new Viewport(source.extent, source.min);
    this.target = null;
    this.scroll = 0;
    this.hovered = null;
    this.focused = null;
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": label });
    this.element = h("div", { class: "chart" }, this.canvas);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.redraw = oncePerFrame((now) => this.frame(now));
    this.drawn = { bars: 0, millis: 0 };
    new ResizeObserver(() => this.resize()).observe(this.element);
    for (const value of [state.selected, state.matches, state.theme]) value.watch(() => this.redraw());
    listenTo(this);
  }

  /** The source has other bars, on another axis. */
  renew() {
    this.viewport.reset(this.source.extent, this.source.min);
    Object.assign(this, { target: null, scroll: 0, hovered: null, focused: null, placed: undefined });
    this.redraw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio || 1;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.draw();
  }

  /** Brings a part of the axis into view, gliding unless the user wants things to keep still. */
  glideTo(start, end) {
    this.source.moved?.();
    const target = this.viewport.copy();
    target.show(start, end);
    this.target = target;
    if (keepsStill()) {
      Object.assign(this.viewport, { start: target.start, end: target.end });
      this.target = null;
    }
    this.redraw();
  }

  reset() {
    this.scroll = 0;
    this.glideTo(0, this.viewport.extent);
  }

  /** Zooms at once by a factor below 1 or above; `fraction` is the place that stays. */
  zoom(factor, fraction = 0.5) {
    this.target = null;
    this.viewport.zoom(factor, fraction);
    this.moved();
  }

  pan(fraction) {
    this.target = null;
    this.viewport.pan(fraction);
    this.moved();
  }

  scrollBy(pixels) {
    this.scroll += pixels;
    this.moved();
  }

  moved() {
    this.hover(null);
    this.redraw();
    this.source.moved?.();
  }

  frame(now) {
    if (this.target) {
      const { viewport, target } = this;
      const part = 1 - 0.75 ** Math.min(4, (now - (this.lastFrame ?? now - 16)) / 16);
      this.lastFrame = now;
      viewport.start += (target.start - viewport.start) * part;
      viewport.end += (target.end - viewport.end) * part;
      const off = Math.abs(target.start - viewport.start) + Math.abs(target.end - viewport.end);
      if (off < target.width / 2000) {
        Object.assign(viewport, { start: target.start, end: target.end });
        this.target = null;
        this.lastFrame = undefined;
      }
    }
    this.draw();
    if (this.target) this.redraw();
  }

  /** The lanes as they are drawn now, each with `top`: where its rows begin, in pixels below the axis. */
  layout() {
    const lanes = this.source.lanes(this.viewport.width / this.width);
    const heads = lanes.length > 1 ? LANE_HEAD : 0;
    let top = 4;
    const placed = lanes.map((lane) => {
      const rowsTop = top + heads;
      top = rowsTop + lane.rows.length * ROW + 6;
      return { ...lane, head: heads > 0, top: rowsTop };
    });
    this.contentHeight = top;
    this.scroll = Math.max(0, Math.min(this.scroll, top - (this.height - AXIS)));
    return placed;
  }

  draw() {
    if (!this.width || !this.canvas.isConnected) return;
    const begun = performance.now();
    const style = getComputedStyle(this.element);
    this.palette = Object.fromEntries(
      ["surface", "text", "muted", "line", "accent", "bar-text"].map((name) => [name, style.getPropertyValue(`--${name}`)]),
    );
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.placed = this.layout();
    this.paint();
    this.source.drawn?.(this.viewport);
    this.drawn.millis = performance.now() - begun;
  }

  /** Draws what is seen. */
  paint() {
    const { context, width, height, viewport } = this;
    const hatch = this.hatch(this.palette.surface);
    context.font = FONT;
    context.textBaseline = "middle";
    this.letter ??= context.measureText("m").width;
    context.fillStyle = this.palette.surface;
    context.fillRect(0, 0, width, height);
    this.drawn.bars = 0;
    this.grid(context);
    for (const lane of this.placed) {
      const headY = AXIS + lane.top - LANE_HEAD - this.scroll;
      if (lane.head && headY > AXIS - LANE_HEAD && headY < height) {
        context.fillStyle = this.palette.muted;
        context.fillText(lane.name, 8, headY + LANE_HEAD / 2);
      }
      const first = Math.max(0, Math.floor((this.scroll - lane.top) / ROW));
      const last = Math.min(lane.rows.length, Math.ceil((this.scroll + height - AXIS - lane.top) / ROW));
      for (let depth = first; depth < last; depth++) {
        this.row(context, hatch, lane.rows[depth], AXIS + lane.top + depth * ROW - this.scroll, width / viewport.width);
      }
    }
    for (const [bar, color, thickness] of [[this.hovered, this.palette.text, 1], [this.focused, this.palette.accent, 2]]) {
      if (bar) this.outline(context, bar, color, thickness);
    }
    this.outside(context);
    this.axis(context);
  }

  /** Stripes in the color of the ground. */
  hatch(color) {
    if (this.hatched?.color !== color) {
      const tile = h("canvas", { width: 6, height: 6 });
      const context = tile.getContext("2d");
      context.strokeStyle = color;
      context.globalAlpha = 0.6;
      context.lineWidth = 1.5;
      context.beginPath();
      for (const from of [-6, 0, 6]) {
        context.moveTo(from, 6);
        context.lineTo(from + 6, 0);
      }
      context.stroke();
      this.hatched = { color, pattern: this.context.createPattern(tile, "repeat") };
    }
    return this.hatched.pattern;
  }

  /** The bars of a row. Those that are too narrow to be told apart become one of a pixel's width. */
  row(context, hatch, row, y, scale) {
    const { viewport, width, palette, colors } = this;
    const matches = this.state.matches.value;
    const selected = this.state.selected.value;
    const { start, end, func } = row;
    const merged = row.merged;
    let lastX = -1;
    let fill = "";
    let faded = false;
    for (let n = firstAbove(end, viewport.start); n < start.length && start[n] < viewport.end; n++) {
      const from = (start[n] - viewport.start) * scale;
      const to = (end[n] - viewport.start) * scale;
      if (to < lastX && to - from < 1) continue;
      const x = Math.max(from, -2);
      const w = Math.max(Math.min(to, width + 2) - x - (to - from > 3 ? 1 : 0), 1);
      const dim = matches ? matches[func[n]] !== 1 : selected !== null && func[n] !== selected;
      if (dim !== faded) context.globalAlpha = (faded = dim) ? (matches ? 0.25 : 0.55) : 1;
      const color = colors.fill(func[n]);
      if (color !== fill) context.fillStyle = fill = color;
      context.fillRect(x, y, w, ROW - 1);
      this.drawn.bars++;
      lastX = Math.ceil(x + w);
      if (merged && merged[n] > 1 && w > 3) {
        context.fillStyle = fill = hatch;
        context.fillRect(x, y, w, ROW - 1);
      }
      if (w > 24) {
        const textX = Math.max(x, 0);
        const room = Math.floor((x + w - textX - 8) / this.letter);
        if (room >= 2) {
          context.fillStyle = palette["bar-text"];
          context.fillText(shortName(this.source.title(row, n), room), textX + 4, y + ROW / 2);
          fill = "";
        }
      }
    }
    context.globalAlpha = 1;
  }

  outline(context, { lane, depth, index }, color, thickness) {
    const row = this.placed[lane]?.rows[depth];
    if (!row || index >= row.start.length) return;
    const { viewport, width } = this;
    const scale = width / viewport.width;
    const from = Math.max((row.start[index] - viewport.start) * scale, -4);
    const to = Math.min((row.end[index] - viewport.start) * scale, width + 4);
    const y = AXIS + this.placed[lane].top + depth * ROW - this.scroll;
    context.strokeStyle = color;
    context.lineWidth = thickness;
    context.strokeRect(from + 0.5, y + 0.5, Math.max(to - from - 2, 1), ROW - 2);
  }

  /** The moment that times are told from, in the axis' units. */
  get origin() {
    return this.source.selection?.start ?? 0;
  }

  /** How finely moments are told, in nanoseconds: ten times as finely as the axis. */
  get fineness() {
    return this.steps().step / 10;
  }

  steps() {
    const nanos = this.source.nanosPerUnit;
    const step = axisStep(this.viewport.width * nanos, this.width / 110);
    const from = (this.viewport.start - this.origin) * nanos;
    const first = Math.ceil(from / step);
    const last = Math.floor((this.viewport.end - this.origin) * nanos / step);
    const scale = this.width / (this.viewport.width * nanos);
    const at = (n) => ({ nanos: n * step, x: (n * step - from) * scale });
    return { step, marks: Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => at(first + n)) };
  }

  grid(context) {
    context.fillStyle = this.palette.line;
    for (const { x } of this.steps().marks) context.fillRect(Math.round(x), AXIS, 1, this.height);
  }

  /** What is not in the selected selection is paler. */
  outside(context) {
    const { palette, width, height } = this;
    const selection = this.selecting ?? this.source.selection;
    if (!selection) return;
    const [from, to] = [selection.start, selection.end].map((at) => Math.min(width, Math.max(0, ((at - this.viewport.start) / this.viewport.width) * width)));
    context.fillStyle = palette.surface;
    context.globalAlpha = 0.6;
    context.fillRect(0, AXIS, from, height);
    context.fillRect(to, AXIS, width - to, height);
    context.globalAlpha = 1;
    context.fillStyle = palette.accent;
    for (const x of [from, to - 1]) if (x > 0 && x < width - 1) context.fillRect(x, AXIS - 6, 1, height);
  }

  axis(context) {
    const { palette, width } = this;
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, AXIS);
    context.fillStyle = palette.line;
    context.fillRect(0, AXIS - 1, width, 1);
    const { step, marks } = this.steps();
    const largest = Math.max(...marks.map(({ nanos }) => Math.abs(nanos)));
    context.fillStyle = palette.muted;
    for (const { nanos, x } of marks) {
      const text = momentText(nanos, step, largest);
      const left = Math.min(x + 4, width - text.length * this.letter - 4);
      context.fillText(text, left, AXIS / 2);
    }
    const selection = this.selecting ?? this.source.selection;
    if (!selection) return;
    const scale = width / this.viewport.width;
    const from = Math.max(0, (selection.start - this.viewport.start) * scale);
    const to = Math.min(width, (selection.end - this.viewport.start) * scale);
    context.fillStyle = palette.accent;
    if (to > from) context.fillRect(from, AXIS - 4, Math.max(1, to - from), 4);
  }

  /** The bar at a place of the canvas: {lane, depth, index}, or null. */
  barAt(x, y) {
    if (!this.placed || y < AXIS) return null;
    const units = this.viewport.start + (x / this.width) * this.viewport.width;
    const slack = this.viewport.width / this.width;
    for (const [lane, { top, rows }] of this.placed.entries()) {
      const depth = Math.floor((y - AXIS + this.scroll - top) / ROW);
      if (depth < 0 || depth >= rows.length) continue;
      const index = firstAbove(rows[depth].end, units - slack);
      // Half a pixel off is near enough, but the bar that is really there comes first.
      const exact = firstAbove(rows[depth].end, units);
      for (const n of [exact, index]) if (rows[depth].start[n] <= units + (n === exact ? 0 : slack)) return { lane, depth, index: n };
      if (rows[depth].start[exact] <= units + slack) return { lane, depth, index: exact };
    }
    return null;
  }

  hover(bar, x, y) {
    const tooltip = byId("tooltip");
    this.hovered = bar;
    tooltip.hidden = bar === null;
    if (bar) {
      tooltip.replaceChildren(...this.describe(bar).map((line, n) => h(n === 0 ? "strong" : "div", {}, line)));
      const { width, height } = tooltip.getBoundingClientRect();
      tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
      tooltip.style.top = `${y + 18 + height > innerHeight ? y - height - 10 : y + 18}px`;
    }
    this.redraw();
  }

  describe({ lane, depth, index }) {
    const row = this.placed[lane]?.rows[depth];
    return row ? this.source.describe(row, index) : [""];
  }

  /** Makes a bar the one that keys act on, and says what it is. */
  focus(bar) {
    this.focused = bar;
    if (bar) byId("said").textContent = this.describe(bar).join(", ");
    this.redraw();
  }

  select(bar) {
    const row = bar && this.placed[bar.lane].rows[bar.depth];
    const func = row ? row.func[bar.index] : null;
    this.focus(bar);
    this.state.selected.set(func !== null && func < this.state.pageData.functions.length ? func : null);
  }

  /** Makes a bar as wide as the chart. */
  zoomTo(bar) {
    const row = this.placed[bar.lane].rows[bar.depth];
    const [start, end] = [row.start[bar.index], row.end[bar.index]];
    const margin = (end - start) * 0.02;
    this.glideTo(start - margin, end + margin);
  }

  /** The place on the axis that is at so many pixels. */
  unitsAt(x) {
    const { start, width, extent } = this.viewport;
    return Math.min(extent, Math.max(0, start + (x / this.width) * width));
  }

  /** Scrolls and moves until a bar can be seen. */
  reveal({ lane, depth, index }) {
    const { top, rows } = this.placed[lane];
    const y = top + depth * ROW;
    if (y < this.scroll) this.scroll = y;
    if (y + ROW > this.scroll + this.height - AXIS) this.scroll = y + ROW - (this.height - AXIS);
    const [start, end] = [rows[depth].start[index], rows[depth].end[index]];
    const { viewport } = this;
    if (end < viewport.start || start > viewport.end) {
      const middle = (start + end) / 2;
      this.glideTo(middle - viewport.width / 2, middle + viewport.width / 2);
    }
    this.redraw();
  }
}
