// The state of the page in its address, after the #: it can be shared, loaded again, and left by the browser's Back.
import { oncePerFrame } from "./dom.js";

/** A longer name is given by its number. */
const LONGEST = 200;
const TREES = ["down", "up", "around"];
/** How long the timeline must rest until its part is noted: browsers allow few changes in a time. */
const REST = 400;

export function keepAddress(state, views, showSearch) {
  const { chart } = views.timeline;
  const { order } = views.table;
  let reading = false;
  let pushed = false;
  const write = (push) => {
    const text = written(state, chart.target ?? chart.viewport, order.value);
    if (text === location.hash.slice(1)) return;
    const address = text === "" ? location.pathname + location.search : `#${text}`;
    try {
      history[push ? "pushState" : "replaceState"](null, "", address);
    } catch {
      // Where a page may not do that, it has no address of its own.
    }
  };
  const read = () => {
    reading = true;
    take(state, chart, order, showSearch, new URLSearchParams(location.hash.slice(1)));
    reading = false;
  };
  read();
  const later = oncePerFrame(() => {
    write(pushed);
    pushed = false;
  });
  const changed = (push) => {
    if (reading) return;
    pushed ||= push;
    later();
  };
  for (const value of [state.view, state.selection, state.selected, state.tree]) value.watch(() => changed(true));
  for (const value of [state.query, order]) value.watch(() => changed(false));
  pushed = false;
  let rest;
  views.timeline.onMove = () => {
    clearTimeout(rest);
    rest = setTimeout(() => changed(false), REST);
  };
  // Back, and addresses that are typed.
  addEventListener("popstate", read);
}

/** The address of what is seen. What is as it was in the beginning isn't in it. */
export function written(state, { start, end, extent }, order) {
  const parts = new URLSearchParams();
  const put = (name, value, usual) => value !== usual && parts.set(name, value);
  put("tab", state.view.value, state.firstView);
  put("tree", state.tree.value, "down");
  put("find", state.query.value, "");
  if (state.selected.value !== null) parts.set("function", named(state.pageData.functions, state.selected.value));
  if (state.selection.value) parts.set("select", ticks(state.selection.value));
  if (start > 0 || end < extent) parts.set("zoom", ticks({ start, end }));
  put("sort", `${order.descending ? "" : "-"}${order.key}`, "self");
  return parts.toString().replaceAll("%7E", "~").replaceAll("%3A", ":");
}

function take(state, chart, order, showSearch, parts) {
  const one = (name, allowed) => (allowed.includes(parts.get(name)) ? parts.get(name) : allowed[0]);
  state.selected.set(numbered(state.pageData.functions, parts.get("function")));
  state.selection.set(state.tabs.includes("timeline") ? range(parts.get("select"), chart.viewport.extent) : null);
  state.tree.set(one("tree", TREES));
  state.view.set(one("tab", [state.firstView, ...state.tabs]));
  showSearch(parts.get("find") ?? "");
  const [, up, key] = /^(-?)(name|share|self|total|calls|average|min|max)$/.exec(parts.get("sort") ?? "") ?? [null, "", "self"];
  if (order.value.key !== key || order.value.descending !== (up === "")) order.set({ key, descending: up === "" });
  const { extent } = chart.viewport;
  const seen = range(parts.get("zoom"), extent) ?? { start: 0, end: extent };
  chart.target = null;
  chart.viewport.show(seen.start, seen.end);
  chart.redraw();
}

/** A function's name if it is the only one with it, or else its number. */
function named(functions, index) {
  const { name } = functions[index];
  const plain = name.length <= LONGEST && !/^#\d+$/.test(name) && functions.every((other) => other.index === index || other.name !== name);
  return plain ? name : `#${index}`;
}

function numbered(functions, text) {
  if (text === null) return null;
  const [, number] = /^#(\d{1,9})$/.exec(text) ?? [];
  const found = number ? functions[Number(number)] : functions.find(({ name }) => name === text);
  return found?.index ?? null;
}

function ticks({ start, end }) {
  const [from, to] = [start, end].map((value) => Number(value.toFixed(2)));
  return `${from}~${to}`;
}

/** A part of the run that was written; null if it is none. */
function range(text, extent) {
  const [, start, end] = /^(\d{1,17}(?:\.\d+)?)~(\d{1,17}(?:\.\d+)?)$/.exec(text ?? "") ?? [];
  const part = { start: Number(start), end: Math.min(Number(end), extent) };
  return part.start < part.end ? part : null;
}
