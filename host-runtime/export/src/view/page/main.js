// Starts the page: reads the data, makes the views, and handles the keys of the whole page.
import { keepAddress } from "./address.js";
import { Colors } from "./colors.js";
import { readFlame, readPageData, readSlices, sectionBytes, sectionJson } from "./data.js";
import { Details } from "./details.js";
import { byId, h } from "./dom.js";
import { Tree } from "./figures.js";
import { Flame } from "./flame.js";
import { nanosText, plural, setClock } from "./format.js";
import { CallGraph } from "./graph.js";
import { saving } from "./save.js";
import { Slices } from "./slices.js";
import { State } from "./state.js";
import { watchSelection } from "./selection.js";
import { FunctionTable } from "./table.js";
import { Timeline } from "./timeline.js";

const TITLES = { timeline: "Timeline", flame: "Flame graph", table: "Table", graph: "Call graph" };

const HELP = [
  ["/", "search; /between slashes/ is a regular expression; Escape leaves it"],
  ["wheel, + −, w s", "zoom"],
  ["drag on the scale, Shift+drag", "select a range of time"],
  ["x", "select the bar's time, or what is seen; or all again"],
  ["z", "zoom to what is selected"],
  ["drag, Shift+arrows, a d", "move"],
  ["Shift+wheel, Page Up/Down", "scroll"],
  ["← → ↑ ↓", "from bar to bar, from row to row"],
  ["Enter, double click", "zoom to a bar"],
  ["0, Escape", "all of it again"],
  ["t", "light or dark"],
  ["?", "this list"],
];

async function start() {
  const state = new State(readPageData(await sectionJson("profile")));
  const { pageData } = state;
  const colors = new Colors(pageData);
  themes(state, colors);
  head(state);
  const timeline = new Timeline(state, colors);
  const nodes = readFlame(await sectionBytes("flame"));
  const tree = new Tree(nodes, pageData.functions.length);
  const views = {
    timeline,
    flame: new Flame(state, colors, tree, nodes),
    table: new FunctionTable(state, colors),
    graph: new CallGraph(state, colors),
  };
  new Details(state, colors, byId("details"));
  tabs(state, views);
  saving(state, views);
  keys(state, views);
  const showSearch = search(state);
  await timeline.load();
  // The figures of a range need all of the calls.
  const finest = () => timeline.levels[0] ?? null;
  watchSelection(state, timeline, tree, new Slices(readSlices(await sectionBytes("slices"), nodes.parent.length), tree, finest, pageData.other));
  keepAddress(state, views, showSearch);
  // For tests and benchmarks.
  Object.assign(globalThis, { kperf: { state, views } });
  document.documentElement.dataset.ready = "true";
}

function head(state) {
  const { pageData } = state;
  const { host, clock } = pageData;
  setClock(clock.kind);
  byId("title").textContent = pageData.title;
  const engine = [host.name, host.version].filter(Boolean).join(" ");
  const facts = [plural(pageData.calls, "call"), plural(pageData.functions.length, "function"), nanosText(pageData.wallNanos), engine, pageData.runs ? `means of ${plural(pageData.runs, "run")}` : pageData.precision?.isEven ? "sampled" : `${clock.kind} clock`];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  byId("facts").title = [pageData.command, pageData.outcome, `written by kperf-wasm ${pageData.version}`].filter(Boolean).join("\n");
  state.view.watch((shown) => notes(pageData, shown));
}

/** What makes all figures doubtful, and what concerns the tab that is shown. */
function notes(pageData, shown) {
  const warnings = pageData.warnings.map((text) => h("li", { class: "warning" }, text));
  const about = pageData.notes.filter(({ tabs }) => tabs.includes(shown)).map(({ text }) => text);
  const items = about.map((text) => h("li", {}, text));
  byId("notes").replaceChildren(...(warnings.length + items.length > 0 ? [h("ul", { tabindex: 0, "aria-label": "Notes" }, ...warnings, ...items)] : []));
}

function tabs(state, views) {
  const buttons = state.tabs.map((name) =>
    h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, onclick: () => state.view.set(name) }, TITLES[name]));
  byId("tabs").replaceChildren(...buttons);
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = state.tabs.indexOf(state.view.value);
    state.view.set(state.tabs.at((at + step) % state.tabs.length));
    buttons.find((button) => button.getAttribute("aria-selected") === "true")?.focus();
  });
  for (const name of state.tabs) {
    const { element } = views[name];
    element.id = `view-${name}`;
    element.setAttribute("role", "tabpanel");
    element.setAttribute("aria-labelledby", `tab-${name}`);
    byId("views").append(element);
  }
  state.view.watch((shown) => {
    byId("tooltip").hidden = true;
    state.tabs.forEach((name, n) => {
      views[name].element.hidden = name !== shown;
      buttons[n].setAttribute("aria-selected", String(name === shown));
      buttons[n].tabIndex = name === shown ? 0 : -1;
    });
  });
}

function search(state) {
  const input = byId("search");
  const found = byId("found");
  input.addEventListener("input", () => {
    const count = state.search(input.value);
    input.setAttribute("aria-invalid", String(count === null));
    const text = count === null ? "no pattern" : `${count} of ${state.pageData.functions.length}`;
    found.textContent = input.value.trim() === "" ? "" : text;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      input.dispatchEvent(new Event("input"));
      input.blur();
    } else if (event.key === "Enter" && state.matches.value) {
      // The matches in turn.
      const { functions } = state.pageData;
      const from = state.selected.value ?? -1;
      const next = functions.findIndex(({ index }) => index > from && state.matches.value[index] === 1);
      const first = functions.findIndex(({ index }) => state.matches.value[index] === 1);
      if (first >= 0) state.selected.set(next >= 0 ? next : first);
    }
  });
  return (text) => {
    if (text === state.query.value) return;
    input.value = text;
    input.dispatchEvent(new Event("input"));
  };
}

function keys(state, views) {
  const dialog = byId("keys");
  const help = [[state.tabs.map((_, n) => n + 1).join(" "), state.tabs.map((name) => TITLES[name].toLowerCase()).join(", ")], ...HELP];
  dialog.append(h("h2", { id: "keys-title" }, "Keys"), h("dl", {}, ...help.flatMap(([key, does]) => [h("dt", {}, key), h("dd", {}, does)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  byId("help").addEventListener("click", () => dialog.showModal());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=search], dialog *, .menu[open] *")) return;
    const view = state.tabs[Number(event.key) - 1];
    if (view) {
      state.view.set(view);
      views[view].chart?.canvas.focus();
    } else if (event.key === "/") {
      byId("search").focus();
    } else if (event.key === "t") {
      byId("theme").click();
    } else if (event.key === "?") {
      dialog.showModal();
    } else if (event.key === "Escape" && !event.defaultPrevented) {
      state.selected.set(null);
      return;
    } else {
      return;
    }
    event.preventDefault();
  });
}

function themes(state, colors) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  // A page from a file may have no storage.
  try {
    chosen = localStorage.getItem("kperf-theme");
  } catch {}
  const button = byId("theme");
  // Before everything else that watches the theme: they draw with its colors.
  state.theme.watch((theme) => {
    document.documentElement.dataset.theme = theme;
    colors.setTheme(theme);
    button.textContent = theme === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", theme === "dark" ? "Light colors" : "Dark colors");
  });
  const follow = () => state.theme.set(chosen ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", follow);
  follow();
  button.addEventListener("click", () => {
    chosen = state.theme.value === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("kperf-theme", chosen);
    } catch {}
    follow();
  });
}

start().catch((error) => {
  byId("notes").replaceChildren(h("ul", {}, h("li", { class: "warning" }, `This page can't be shown: ${error.message}`)));
  throw error;
});
