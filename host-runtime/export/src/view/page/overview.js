// The whole run as a strip above the timeline, with a window for the visible part.
import { firstAbove } from "./viewport.js";
import { h, oncePerFrame } from "./dom.js";

const STRIP = 44;
const STRIP_ROW = 3;

export class Overview {
  constructor(timeline, colors, state) {
    Object.assign(this, { timeline, colors });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.window = h("div", { class: "window" });
    this.selection = h("div", { class: "selected" });
    this.element = h("div", { class: "overview" }, this.canvas, this.selection, this.window);
    state.selection.watch((selection) => {
      const extent = Math.max(1, state.pageData.wallTicks);
      this.selection.hidden = selection === null;
      if (!selection) return;
      this.selection.style.left = `${(selection.start / extent) * 100}%`;
      this.selection.style.width = `${((selection.end - selection.start) / extent) * 100}%`;
    });
    this.redraw = oncePerFrame(() => this.draw());
    new ResizeObserver(() => this.repaint()).observe(this.element);
    state.theme.watch(() => this.repaint());
    this.listen();
  }

  repaint() {
    this.painted = null;
    this.redraw();
  }

  listen() {
    let dragging = false;
    const move = (event) => {
      const { left, width } = this.element.getBoundingClientRect();
      const { chart } = this.timeline;
      const middle = ((event.clientX - left) / width) * chart.viewport.extent;
      chart.target = null;
      chart.viewport.show(middle - chart.viewport.width / 2, middle + chart.viewport.width / 2);
      chart.moved();
    };
    this.element.addEventListener("pointerdown", (event) => {
      dragging = true;
      this.element.setPointerCapture(event.pointerId);
      move(event);
    });
    this.element.addEventListener("pointermove", (event) => dragging && move(event));
    for (const name of ["pointerup", "pointercancel"]) this.element.addEventListener(name, () => (dragging = false));
  }

  draw() {
    const { clientWidth: width } = this.element;
    const coarsest = this.timeline.levels.at(-1);
    if (width === 0 || !coarsest || !this.timeline.chart.viewport) return;
    if (this.painted !== coarsest) {
      this.paint(coarsest, width);
      this.painted = coarsest;
    }
    const { start, end, extent } = this.timeline.chart.viewport;
    this.window.style.left = `${(start / extent) * 100}%`;
    this.window.style.width = `${Math.max(0.2, ((end - start) / extent) * 100)}%`;
    this.window.classList.toggle("all", end - start > extent * 0.999);
  }

  /** A column per pixel: as high as the stack is deep there, in the color of the innermost call. */
  paint(level, width) {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(STRIP * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, STRIP);
    const rows = level.lanes.flatMap((lane) => lane.rows);
    const height = Math.min(STRIP_ROW, (STRIP - 8) / Math.max(1, rows.length));
    const extent = this.timeline.chart.viewport.extent;
    rows.forEach(({ start, end, func }, depth) => {
      for (let x = 0; x < width; x++) {
        const n = firstAbove(end, (x / width) * extent);
        if (n < start.length && start[n] < ((x + 1) / width) * extent) {
          context.fillStyle = this.colors.fill(func[n]);
          context.fillRect(x, 4 + depth * height, 1, height);
        }
      }
    });
  }
}
