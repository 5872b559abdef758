// The selected range of time: its figures for all views, and a line that says what is selected.
import { byId, h, oncePerFrame } from "./dom.js";
import { figuresOf } from "./figures.js";
import { momentText, nanosText, percentText } from "./format.js";

/** Keeps the figures those of the selection; `slices` knows what ran in it. */
export function watchSelection(state, timeline, tree, slices) {
  const { pageData } = state;
  const whole = state.figures.value;
  const bar = byId("selection");
  const summary = h("span", {});
  const rest = h("span", { class: "rest" });
  const zoom = () => {
    state.view.set("timeline");
    timeline.chart.glideTo(state.selection.value.start, state.selection.value.end);
  };
  bar.append(summary, h("button", { type: "button", class: "plain", onclick: zoom }, "Zoom to it"), h("button", { type: "button", class: "plain", onclick: () => state.selection.set(null) }, "All of the run"), rest);
  const ask = h("button", { type: "button", class: "plain", title: "Or drag on the scale of the timeline, or Shift and drag (x)", onclick: () => {
    const { start, end } = timeline.chart.viewport;
    timeline.select({ start, end });
  } }, "Select what is seen");
  byId("tools").prepend(ask);
  const offer = () => (ask.hidden = state.view.value !== "timeline" || state.selection.value !== null);
  const work = oncePerFrame(() => {
    const selection = state.selection.value;
    if (!selection) return state.figures.set(whole);
    const sums = slices.between(selection.start, selection.end);
    rest.textContent = restText(sums.rest, selection, slices, pageData);
    state.figures.set(figuresOf(tree, pageData, sums));
  });
  state.view.watch(offer);
  state.selection.watch((selection) => {
    offer();
    bar.hidden = selection === null;
    if (selection) {
      const [start, length] = [selection.start, selection.end - selection.start].map((ticks) => ticks * pageData.nanosPerTick);
      const step = 10 ** Math.floor(Math.log10(Math.max(1, length))) / 100;
      summary.textContent = `Selected: ${nanosText(length)} from ${momentText(start, Math.max(1, step))} (${percentText(length / Math.max(1, pageData.wallNanos))} of the run)`;
    }
    work();
  });
}

/** What the figures of a range rest on, where that isn't each call. */
function restText(rest, { start, end }, slices, { nanosPerTick }) {
  if (rest === "calls") return "";
  if (!slices.regular) return "Approximate: shares of the profile's windows.";
  if (slices.columns.start.length === 0) return "This page doesn't know what ran when.";
  const sharing = rest === "merged" ? "calls that are drawn together share what ran in" : "shares of";
  const range = [start, end].map((ticks) => `${Math.round(ticks * nanosPerTick)}ns`).join("~");
  return `Approximate: at its ends, ${sharing} slices of ${nanosText(slices.width * nanosPerTick)}. Exact: kperf-wasm report TRACE --range ${range}`;
}
