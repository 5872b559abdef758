// Saves the shown view: pictures as SVG and PNG, figures as CSV.
import { byId, h } from "./dom.js";
import { columnName } from "./format.js";
import { SvgCanvas, plainColors } from "./svgcanvas.js";

/** What of an element's style is in a picture that is saved. */
const STYLES = ["fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "text-anchor", "opacity", "paint-order", "stroke-linejoin"];
/** How many pixels of a PNG stand for one of the page. */
const SCALE = 2;

/** A menu for the view that is shown. */
export function saving(state, views) {
  const item = (title, ending, make) => h("button", { type: "button", onclick: async () => {
    menu.open = false;
    menu.querySelector("summary").focus();
    const { pageData, view } = state;
    download(await make(views[view.value], state), `${pageData.title}-${view.value}.${ending}`);
  } }, title);
  const pictures = [item("SVG picture", "svg", svgBlob), item("PNG picture", "png", pngBlob)];
  const menu = h("details", { class: "menu" }, h("summary", {}, "Save"), h("div", {}, ...pictures, item("CSV table", "csv", (view) => csvBlob(view.lines()))));
  byId("tools").append(menu);
  state.view.watch((view) => pictures.forEach((button) => (button.hidden = view === "table")));
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

/** The view's picture as an SVG element. */
export function picture(view, state) {
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--surface");
  if (view.svg) return graphPicture(view, ground);
  const { chart } = view;
  const canvas = new SvgCanvas(chart.width, chart.height, ground);
  chart.paint(canvas, canvas.hatch);
  canvas.root.prepend(titleOf(state));
  return canvas.root;
}

function titleOf({ pageData }) {
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = pageData.title;
  return title;
}

/** The call graph, all of it, with its style in its elements. */
function graphPicture(view, ground) {
  const color = plainColors();
  const root = view.svg.cloneNode(true);
  const originals = view.svg.querySelectorAll("*");
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
  const { width, height } = view.layout;
  root.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  root.setAttribute("viewBox", `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`);
  root.setAttribute("width", Math.ceil(width + 2 * margin));
  root.setAttribute("height", Math.ceil(height + 2 * margin));
  for (const name of ["class", "tabindex", "role"]) root.removeAttribute(name);
  root.querySelector("g").removeAttribute("transform");
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: -margin, y: -margin, width: "100%", height: "100%", fill: color(ground) })) back.setAttribute(name, value);
  root.prepend(back);
  return root;
}

function svgBlob(view, state) {
  return new Blob([new XMLSerializer().serializeToString(picture(view, state))], { type: "image/svg+xml" });
}

async function pngBlob(view, state) {
  const address = URL.createObjectURL(svgBlob(view, state));
  const image = new Image();
  image.src = address;
  await image.decode();
  // No browser draws more than that on a side.
  const scale = Math.min(SCALE, 16_000 / Math.max(image.width, image.height));
  const canvas = h("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
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
