// The selected stretch of time: its figures for all views, and a line that says what is selected.
import { byId, h, oncePerFrame } from "./dom.js";
import { figuresOf } from "./figures.js";
import { momentText, nanosText, percentText } from "./format.js";

/** Keeps the figures those of the stretch; `slices` knows what ran in it. */
export function watchStretch(state, timeline, tree, slices) {
  const { sheet } = state;
  const whole = state.figures.value;
  const bar = byId("stretch");
  const told = h("span", {});
  const rest = h("span", { class: "rest" });
  const zoom = () => {
    state.view.set("timeline");
    timeline.chart.glideTo(state.stretch.value.start, state.stretch.value.end);
  };
  bar.append(told, h("button", { type: "button", class: "plain", onclick: zoom }, "Zoom to it"), h("button", { type: "button", class: "plain", onclick: () => state.stretch.set(null) }, "All of the run"), rest);
  const ask = h("button", { type: "button", class: "plain", title: "Or drag on the scale of the timeline, or Shift and drag (x)", onclick: () => {
    const { start, end } = timeline.chart.viewport;
    timeline.select({ start, end });
  } }, "Select what is seen");
  byId("tools").prepend(ask);
  const offer = () => (ask.hidden = state.view.value !== "timeline" || state.stretch.value !== null);
  const work = oncePerFrame(() => {
    const stretch = state.stretch.value;
    if (!stretch) return state.figures.set(whole);
    const sums = slices.between(stretch.start, stretch.end);
    rest.textContent = restText(sums.rest, stretch, slices, sheet);
    state.figures.set(figuresOf(tree, sheet, sums));
  });
  state.view.watch(offer);
  state.stretch.watch((stretch) => {
    offer();
    bar.hidden = stretch === null;
    if (stretch) {
      const [start, length] = [stretch.start, stretch.end - stretch.start].map((ticks) => ticks * sheet.nanosPerTick);
      const step = 10 ** Math.floor(Math.log10(Math.max(1, length))) / 100;
      told.textContent = `Selected: ${nanosText(length)} from ${momentText(start, Math.max(1, step))} (${percentText(length / Math.max(1, sheet.wallNanos))} of the run)`;
    }
    work();
  });
}

/** What the figures of a stretch rest on, where that isn't each call. */
function restText(rest, { start, end }, slices, { nanosPerTick }) {
  if (rest === "calls") return "";
  if (!slices.regular) return "Approximate: shares of the profile's windows.";
  if (slices.columns.start.length === 0) return "This page doesn't know what ran when.";
  const sharing = rest === "merged" ? "calls that are drawn together share what ran in" : "shares of";
  const range = [start, end].map((ticks) => `${Math.round(ticks * nanosPerTick)}ns`).join("~");
  return `Approximate: at its ends, ${sharing} slices of ${nanosText(slices.width * nanosPerTick)}. Exact: kperf-wasm report TRACE --range ${range}`;
}
