// Mouse, touch and keys of a chart.
import { firstAbove } from "./viewport.js";

/** How high the axis is, in pixels; a range is selected on it. */
export const AXIS = 24;

/**
 * Wheel: zoom. Shift and wheel: scroll. Drag: move. Shift and drag, or drag on the axis: select a range. Click: select. Double
 * click: zoom to a bar. Keys: see `KEYS`.
 */
export function listenTo(chart) {
  const { canvas } = chart;
  const place = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 20 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      if (event.shiftKey) chart.scrollBy(event.deltaX * pixels);
      else chart.pan((event.deltaX * pixels) / chart.width);
    } else if (event.shiftKey) {
      chart.scrollBy(event.deltaY * pixels);
    } else {
      chart.zoom(1.002 ** (event.deltaY * pixels), event.offsetX / chart.width);
    }
  }, { passive: false });
  listenToPointers(chart, place);
  canvas.addEventListener("dblclick", (event) => {
    const bar = chart.barAt(...place(event));
    if (bar) chart.zoomTo(bar);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
    const action = KEYS[key];
    if (!action) return;
    event.preventDefault();
    action(chart);
  });
  canvas.addEventListener("blur", () => chart.focus(null));
}

/** One pointer drags; two pinch. */
function listenToPointers(chart, place) {
  const { canvas } = chart;
  const pointers = new Map();
  let moved = 0;
  /** Where the selection that is being selected began, in pixels. */
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (pointers.size === 0) {
      moved = 0;
      from = chart.source.select && (event.shiftKey || event.offsetY < AXIS) ? event.offsetX : null;
    }
    pointers.set(event.pointerId, place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      chart.hover(chart.barAt(...place(event)), event.clientX, event.clientY);
      return;
    }
    const now = place(event);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (from !== null && moved > 4) {
      const [start, end] = [from, now[0]].map((x) => chart.unitsAt(x)).sort((a, b) => a - b);
      chart.selecting = { start, end };
      chart.redraw();
    } else if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const [was, is] = [before, now].map((at) => Math.max(20, Math.abs(at[0] - other[0])));
      chart.zoom(was / is, other[0] / chart.width);
    } else if (moved > 4) {
      canvas.classList.add("dragging");
      chart.pan(-dx / chart.width);
      chart.scrollBy(-dy);
    }
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    canvas.classList.remove("dragging");
    if (chart.selecting && event.type === "pointerup") chart.source.select(chart.selecting);
    chart.selecting = null;
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved <= 4) {
      if (from === null) chart.select(chart.barAt(...place(event)));
      else chart.source.select(null);
    }
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => chart.hover(null));
}

const KEYS = {
  "+": (chart) => chart.zoom(0.7),
  "=": (chart) => chart.zoom(0.7),
  "-": (chart) => chart.zoom(1 / 0.7),
  w: (chart) => chart.zoom(0.7),
  s: (chart) => chart.zoom(1 / 0.7),
  a: (chart) => chart.pan(-0.15),
  d: (chart) => chart.pan(0.15),
  0: (chart) => chart.reset(),
  Home: (chart) => chart.reset(),
  PageDown: (chart) => chart.scrollBy(chart.height * 0.8),
  PageUp: (chart) => chart.scrollBy(-chart.height * 0.8),
  "Shift+ArrowLeft": (chart) => chart.pan(-0.15),
  "Shift+ArrowRight": (chart) => chart.pan(0.15),
  "Shift+ArrowUp": (chart) => chart.scrollBy(-60),
  "Shift+ArrowDown": (chart) => chart.scrollBy(60),
  ArrowLeft: (chart) => step(chart, (bar) => ({ ...bar, index: bar.index - 1 })),
  ArrowRight: (chart) => step(chart, (bar) => ({ ...bar, index: bar.index + 1 })),
  ArrowUp: (chart) => step(chart, (bar) => outer(chart, bar)),
  ArrowDown: (chart) => step(chart, (bar) => inner(chart, bar)),
  x: (chart) => selectSelection(chart),
  z: (chart) => chart.source.selection && chart.glideTo(chart.source.selection.start, chart.source.selection.end),
  Enter: (chart) => {
    if (!chart.focused) return;
    chart.select(chart.focused);
    chart.zoomTo(chart.focused);
  },
  Escape: (chart) => {
    chart.select(null);
    chart.reset();
  },
};

/** Selects the time of the keys' bar, or else what is seen; or none, if one is selected. */
function selectSelection(chart) {
  const { focused, source, viewport } = chart;
  if (!source.select) return;
  if (source.selection) return source.select(null);
  const row = focused && has(chart, focused) ? chart.placed[focused.lane].rows[focused.depth] : null;
  source.select(row ? { start: row.start[focused.index], end: row.end[focused.index] } : { start: viewport.start, end: viewport.end });
}

/** Moves the keys' bar; the first time to the first one that is seen. */
function step(chart, next) {
  // The level of detail may have changed since: the bar is looked for again.
  const from = chart.focused && has(chart, chart.focused) ? chart.focused : null;
  const bar = from ? next(from) : chart.barAt(chart.width / 2, 34) ?? { lane: 0, depth: 0, index: 0 };
  if (!bar || !has(chart, bar)) return;
  chart.focus(bar);
  chart.reveal(bar);
}

function has(chart, { lane, depth, index }) {
  return index >= 0 && index < (chart.placed?.[lane]?.rows[depth]?.start.length ?? 0);
}

function outer(chart, { lane, depth, index }) {
  const { rows } = chart.placed[lane];
  if (depth === 0) return lane > 0 ? { lane: lane - 1, depth: 0, index: 0 } : null;
  return { lane, depth: depth - 1, index: firstAbove(rows[depth - 1].end, rows[depth].start[index]) };
}

function inner(chart, { lane, depth, index }) {
  const { rows } = chart.placed[lane];
  const below = rows[depth + 1];
  if (below) {
    const child = firstAbove(below.end, rows[depth].start[index]);
    if (below.start[child] < rows[depth].end[index]) return { lane, depth: depth + 1, index: child };
  }
  return chart.placed[lane + 1] ? { lane: lane + 1, depth: 0, index: 0 } : null;
}
