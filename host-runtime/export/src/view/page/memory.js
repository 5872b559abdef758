// Live bytes over time, above the calls and on their axis.
import { firstAbove } from "./viewport.js";
import { h, oncePerFrame } from "./dom.js";
import { bytesText, momentText } from "./format.js";

export class MemoryStrip {
  constructor(timeline, state) {
    Object.assign(this, { timeline, memory: state.pageData.memory });
    const { liveBytes, maxBytes, objectBytes, peakBytes, sampled } = this.memory;
    this.objects = objectBytes.at(-1);
    this.live = peakBytes > 0;
    // What is shown: the most that there was or, where all of it is collected, what was made by then.
    this.bytes = this.live ? maxBytes : objectBytes;
    this.max = Math.max(1, ...this.bytes);
    const about = sampled ? "about " : "";
    const parts = [
      ...(this.live ? [`memory: at most ${about}${bytesText(peakBytes)}, at the end ${about}${bytesText(liveBytes.at(-1))}`] : []),
      ...(this.objects ? [`collected objects made: ${about}${bytesText(this.objects)}; when they are collected isn't recorded`] : []),
    ];
    this.canvas = h("canvas", { role: "img", "aria-label": parts.join(" \u00b7 ") });
    this.label = h("span", { class: "label" }, parts.join(" \u00b7 "));
    this.element = h("div", { class: "memory" }, this.canvas, this.label);
    this.redraw = oncePerFrame(() => this.draw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    state.theme.watch(() => this.redraw());
    this.element.addEventListener("pointermove", (event) => this.showAt(event));
    this.element.addEventListener("pointerleave", () => (this.label.textContent = parts.join(" \u00b7 ")));
  }

  /** The index of the last moment that isn't behind a time, in ticks; -1 before the first. */
  at(ticks) {
    return firstAbove(this.memory.ticks, ticks) - 1;
  }

  showAt(event) {
    const { viewport } = this.timeline.chart;
    const { left, width } = this.element.getBoundingClientRect();
    const ticks = viewport.start + ((event.clientX - left) / width) * viewport.width;
    const n = this.at(ticks);
    const nanos = ticks * this.timeline.nanosPerUnit;
    const what = this.live ? "there" : "made";
    this.label.textContent = `${bytesText(n < 0 ? 0 : this.bytes[n])} ${what} at ${momentText(nanos, Math.max(1, (viewport.width * this.timeline.nanosPerUnit) / 1000))}`;
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const { viewport } = this.timeline.chart;
    if (width === 0 || !viewport) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = getComputedStyle(this.element).color;
    const { ticks } = this.memory;
    for (let x = 0; x < width; x++) {
      const from = viewport.start + (x / width) * viewport.width;
      const to = viewport.start + ((x + 1) / width) * viewport.width;
      const last = this.at(to);
      if (last < 0 || from > this.timeline.extent) continue;
      // The most that there is within the pixel.
      let max = 0;
      for (let n = Math.max(0, this.at(from)); n <= last && ticks[n] < to; n++) max = Math.max(max, this.bytes[n]);
      const high = (max / this.max) * (height - 2);
      context.fillRect(x, height - high, 1, high);
    }
  }
}
