// The call graph: the functions with the longest totals, or those around the selected one.
import { layered } from "./layers.js";
import { h, oncePerFrame, svg } from "./dom.js";
import { countText, percentText, plural, shortName } from "./format.js";

/** More boxes than this are no picture any more. */
const MOST = 80;
const LETTER = 7;
/** Smaller than this it is looked at only when asked for. */
const LEGIBLE = 0.8;

export class CallGraph {
  constructor(state, colors) {
    Object.assign(this, { state, colors });
    this.min = 0.005;
    this.around = h("input", { type: "checkbox", onchange: () => this.rebuild() });
    this.slider = h("input", { type: "range", min: 0, max: 40, value: 17, "aria-label": "Least share of the run", oninput: () => this.slide() });
    this.summary = h("output", {});
    this.bar = h("div", { class: "bar-of-controls" },
      h("label", {}, "At least ", this.slider), this.summary,
      h("label", {}, this.around, " Only around the selected function"),
      h("button", { type: "button", class: "quiet", onclick: () => this.fit() }, "Fit"));
    this.layer = svg("g");
    this.svg = svg("svg", { class: "graph", role: "group", "aria-label": "Call graph", tabindex: 0 },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
        svg("path", { d: "M0 0.5 L8 4 L0 7.5 z", class: "arrow" }))),
      this.layer);
    this.element = h("section", { class: "view graphs" }, this.bar, this.svg);
    this.view = { x: 0, y: 0, scale: 1 };
    this.listen();
    this.redraw = oncePerFrame(() => this.stale && this.build());
    this.stale = true;
    state.selected.watch(() => (this.around.checked ? this.rebuild() : this.mark()));
    state.matches.watch(() => this.mark());
    for (const value of [state.theme, state.figures]) value.watch(() => this.rebuild());
    state.view.watch(() => this.redraw());
    new ResizeObserver(() => this.place()).observe(this.svg);
    this.slide();
  }

  /** The slider goes from 0 to all of the run, finer at the low end. */
  slide() {
    const value = Number(this.slider.value);
    this.min = value === 0 ? 0 : 10 ** (-4 + value / 10);
    this.rebuild();
  }

  /** Draws it in the next frame, or when it is next shown. */
  rebuild() {
    this.stale = true;
    this.redraw();
  }

  chosen() {
    const { functions, whole } = this.state.figures.value;
    const focus = this.state.selected.value;
    const ran = functions.filter((func) => whole || func.calls > 0);
    let few = ran.filter((func) => func.running >= this.min * this.whole);
    if (this.around.checked && focus !== null) {
      const func = functions[focus];
      const near = new Set([focus, ...func.callers.map((edge) => edge.from), ...func.callees.map((edge) => edge.to)]);
      few = ran.filter((func) => near.has(func.index));
    }
    return few.sort((a, b) => b.total - a.total).slice(0, MOST);
  }

  build() {
    if (this.state.view.value !== "graph") return;
    this.stale = false;
    const { functions, edges: known, self } = this.state.figures.value;
    this.whole = Math.max(self, 1);
    const funcs = this.chosen();
    const all = functions.length;
    const share = this.min === 0 ? "anything" : `${Number((this.min * 100).toPrecision(1))} %`;
    const hidden = all - funcs.length;
    const ran = this.state.figures.value.whole || functions.some((func) => func.calls > 0);
    this.summary.textContent = !ran ? "Nothing ran here" : `${share} · ${plural(funcs.length, "function")}${hidden ? `, ${countText(hidden)} more not shown` : ""}`;
    const place = new Map(funcs.map((func, n) => [func.index, n]));
    const edges = known.filter((edge) => place.has(edge.from) && place.has(edge.to));
    const least = this.state.figures.value.accuracy.exactShares ? 204 : 228;
    const boxes = funcs.map((func) => ({ width: Math.max(least, shortName(func.name, 34).length * LETTER + 24), height: 58 }));
    const links = edges.map((edge) => ({ from: place.get(edge.from), to: place.get(edge.to) }));
    this.layout = funcs.length > 0 ? layered(boxes, links) : { places: [], paths: [], width: 1, height: 1 };
    const max = Math.max(1, ...edges.map((edge) => edge.total));
    this.edges = edges;
    this.arrows = edges.map((edge, n) => this.line(edge, boxes, links[n], this.layout.paths[n], max));
    this.boxes = funcs.map((func, n) => this.box(func, boxes[n], this.layout.places[n]));
    this.layer.replaceChildren(...this.arrows, ...this.boxes);
    this.funcs = funcs;
    this.mark();
    this.fit(LEGIBLE);
  }

  box(func, { width, height }, { x, y }) {
    const choose = () => this.state.selected.set(this.state.selected.value === func.index ? null : func.index);
    const key = (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    };
    const text = (line, words, name) => svg("text", { x: 0, y: -height / 2 + 19 + line * 16, class: name }, `${words} `);
    const share = func.running / this.whole;
    const { accuracy } = this.state.figures.value;
    const name = shortName(func.name, 34);
    const figures = [plural(func.calls, "call"), `total ${accuracy.timeText(func.total)} · self ${percentText(func.share, func.shareError)}`];
    // Its title is what is read, and what a mouse sees: an aria-label would have to begin with whichever lines are in sight.
    const title = `${func.name}: ${figures[0]}, total ${accuracy.timeText(func.total)} (${percentText(share)}), self ${accuracy.timeText(func.self)} (${percentText(func.share, func.shareError)})`;
    const group = svg("g", { class: "box", transform: `translate(${x} ${y})`, tabindex: 0, role: "button", onclick: choose, onkeydown: key },
      svg("title", {}, title),
      svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: 6, fill: this.colors.heat(share) }),
      text(0, name, "name"),
      text(1, figures[0], ""),
      text(2, figures[1], "dim"));
    group.func = func.index;
    return group;
  }

  line(edge, boxes, { from, to }, points, max) {
    const thickness = 1 + 4 * Math.sqrt(edge.total / max);
    const [first, last] = [points[0], points.at(-1)];
    let d;
    let at;
    if (from === to) {
      const side = first.x + boxes[from].width / 2;
      d = `M${side} ${first.y - 10} C${side + 46} ${first.y - 30} ${side + 46} ${first.y + 30} ${side + 2} ${first.y + 10}`;
      at = { x: side + 36, y: first.y };
    } else {
      const down = last.y > first.y;
      const edgeY = (point, box, leaving) => point.y + ((leaving === down ? 1 : -1) * boxes[box].height) / 2;
      const ends = [{ x: first.x, y: edgeY(first, from, true) }, ...points.slice(1, -1), { x: last.x, y: edgeY(last, to, false) + (down ? -1 : 1) }];
      d = curve(ends);
      const middle = Math.floor((ends.length - 1) / 2);
      at = { x: (ends[middle].x + ends[middle + 1].x) / 2, y: (ends[middle].y + ends[middle + 1].y) / 2 };
    }
    const label = `${this.state.pageData.nameOf(edge.from)} calls ${this.state.pageData.nameOf(edge.to)} ${plural(edge.calls, "time")}, ${this.state.figures.value.accuracy.timeText(edge.total)}`;
    return svg("g", { class: "link" }, svg("title", {}, label),
      svg("path", { d, "stroke-width": thickness, "marker-end": "url(#arrow)" }),
      svg("text", { x: at.x, y: at.y + 4 }, countText(edge.calls)));
  }

  /** Shows what is selected and searched for. */
  mark() {
    const selected = this.state.selected.value;
    const matches = this.state.matches.value;
    for (const box of this.boxes ?? []) {
      box.classList.toggle("selected", box.func === selected);
      box.classList.toggle("faded", matches !== null && matches[box.func] !== 1);
    }
    (this.arrows ?? []).forEach((line, n) => {
      const { from, to } = this.edges[n];
      line.classList.toggle("near", selected !== null && (from === selected || to === selected));
    });
  }

  /** All of it, but no larger than it was drawn, and at least `min` as large: then the function that all begins with is in sight. */
  fit(min = 0) {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!width || !height || !this.layout) return;
    const scale = Math.max(min, Math.min(1, (width - 48) / this.layout.width, (height - 48) / this.layout.height));
    const called = new Set(this.edges.filter(({ from, to }) => from !== to).map(({ to }) => to));
    // They are in the order of their totals.
    const first = Math.max(0, this.funcs.findIndex(({ index }) => !called.has(index)));
    const root = this.layout.places[first] ?? { x: 0, y: 0 };
    const along = (room, size, at) => {
      if (size * scale <= room - 48) return (room - size * scale) / 2;
      // No further than that the picture's edge is at the window's.
      return Math.min(24, Math.max(room - size * scale - 24, room / 2 - at * scale));
    };
    this.view = { scale, x: along(width, this.layout.width, root.x), y: along(height, this.layout.height, root.y) };
    this.fitted = true;
    this.place();
  }

  /** For a file: a line per arrow. */
  lines() {
    const { nameOf } = this.state.pageData;
    const lines = (this.edges ?? []).map(({ from, to, calls, total }) => [nameOf(from), nameOf(to), calls, Math.round(total)]);
    return [["caller", "callee", "calls", "total_nanos"], ...lines];
  }

  place() {
    if (!this.fitted && this.svg.clientWidth) return this.fit(LEGIBLE);
    const { x, y, scale } = this.view;
    this.layer.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.05, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.place();
  }

  listen() {
    const middle = () => [this.svg.clientWidth / 2, this.svg.clientHeight / 2];
    const move = (x, y) => {
      this.view.x += x;
      this.view.y += y;
      this.place();
    };
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = this.svg.getBoundingClientRect();
      this.zoom(0.998 ** (event.deltaY * (event.deltaMode === 1 ? 20 : 1)), event.clientX - left, event.clientY - top);
    }, { passive: false });
    let last = null;
    this.svg.addEventListener("pointerdown", (event) => (last = [event.clientX, event.clientY]));
    this.svg.addEventListener("pointermove", (event) => {
      if (!last || event.buttons === 0) return;
      move(event.clientX - last[0], event.clientY - last[1]);
      last = [event.clientX, event.clientY];
    });
    addEventListener("pointerup", () => (last = null));
    const keys = {
      "+": () => this.zoom(1.25, ...middle()),
      "=": () => this.zoom(1.25, ...middle()),
      "-": () => this.zoom(0.8, ...middle()),
      0: () => this.fit(),
      ArrowLeft: () => move(60, 0),
      ArrowRight: () => move(-60, 0),
      ArrowUp: () => move(0, 60),
      ArrowDown: () => move(0, -60),
    };
    this.svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}

/** A smooth line through points that lie one above the other. */
function curve(points) {
  let d = `M${points[0].x} ${points[0].y}`;
  for (let n = 1; n < points.length; n++) {
    const [a, b] = [points[n - 1], points[n]];
    const middle = (a.y + b.y) / 2;
    d += ` C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.y}`;
  }
  return d;
}
