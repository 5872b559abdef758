// Saves the shown view: charts as PNG, the call graph as SVG, figures as CSV.
import { byId, h, svg } from "./dom.js";
import { columnName } from "./format.js";

/** What of an element's style is in a picture that is saved. */
const STYLES = ["fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "text-anchor", "opacity", "paint-order", "stroke-linejoin"];

/** A menu for the view that is shown. */
export function saving(state, views) {
  const item = (title, make) => h("button", { type: "button", onclick: async () => {
    menu.open = false;
    menu.querySelector("summary").focus();
    const { pageData, view } = state;
    const blob = await make(views[view.value]);
    download(blob, `${pageData.title}-${view.value}.${/\/(\w+)/.exec(blob.type)[1]}`);
  } }, title);
  const picture = item("Picture", pictureBlob);
  const menu = h("details", { class: "menu" }, h("summary", {}, "Save"), h("div", {}, picture, item("CSV table", (view) => csvBlob(view.lines()))));
  byId("tools").append(menu);
  state.view.watch((view) => (picture.hidden = view === "table"));
  addEventListener("pointerdown", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name.replace(/[^\w.-]+/g, "_") }).click();
  // The browser has it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The chart as it is drawn, or the call graph as an SVG. */
function pictureBlob({ chart, svg: graph, layout }) {
  if (chart) return new Promise((done) => chart.canvas.toBlob(done));
  return new Blob([new XMLSerializer().serializeToString(graphPicture(graph, layout))], { type: "image/svg+xml" });
}

/** The call graph, all of it, with its style in its elements. */
function graphPicture(graph, { width, height }) {
  const color = plainColors();
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  const root = graph.cloneNode(true);
  const originals = graph.querySelectorAll("*");
  root.querySelectorAll("*").forEach((copy, n) => {
    const style = getComputedStyle(originals[n]);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      const painted = (name === "fill" || name === "stroke") && value !== "none" && !value.startsWith("url");
      copy.setAttribute(name, painted ? color(value) : value);
    }
    for (const name of ["class", "tabindex", "role", "aria-label", "style"]) copy.removeAttribute(name);
  });
  const margin = 24;
  root.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  root.setAttribute("viewBox", `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`);
  root.setAttribute("width", Math.ceil(width + 2 * margin));
  root.setAttribute("height", Math.ceil(height + 2 * margin));
  for (const name of ["class", "tabindex", "role"]) root.removeAttribute(name);
  root.querySelector("g").removeAttribute("transform");
  root.prepend(svg("rect", { x: -margin, y: -margin, width: "100%", height: "100%", fill: color(ground) }));
  return root;
}

/** A function for any color that CSS knows as `rgb(..)`, which programs other than browsers can read. */
function plainColors() {
  const context = h("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  return (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return `rgb(${context.getImageData(0, 0, 1, 1).data.slice(0, 3).join()})`;
  };
}

/** Lines of values as CSV (RFC 4180). */
export function csvText(lines) {
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** A text that a spreadsheet would take for a formula gets a quote in front: it is a name, and anything may be in one. */
function field(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvBlob([names, ...lines]) {
  return new Blob([csvText([names.map(columnName), ...lines])], { type: "text/csv" });
}
