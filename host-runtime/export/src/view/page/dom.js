// Making elements. Text is always set as text: names are the module's own, and anything may be in them.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties (`class`, `on…` listeners, `aria-…`, others as attributes) and children. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    // As text the page's Content-Security-Policy would not let it pass.
    else if (name === "style") element.style.cssText = value ?? "";
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Calls `draw` in the next frame, once, however often the answer is called until then. */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame((now) => {
      asked = false;
      draw(now);
    });
  };
}

/** Whether the user wants things to keep still. */
export function keepsStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
