// A canvas context that writes SVG: the methods that charts use.
import { svg } from "./dom.js";

/** Any color that CSS knows as `#rrggbb`, which programs other than browsers can read. */
export function plainColors() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  return (color) => {
    if (!known.has(color)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
      known.set(color, `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`);
    }
    return known.get(color);
  };
}

const HATCH = "url(#hatch)";

/** Writes what is drawn into `root`, an SVG element of `width` by `height`. */
export class SvgCanvas {
  constructor(width, height, ground) {
    this.color = plainColors();
    this.globalAlpha = 1;
    this.lineWidth = 1;
    this.hatch = HATCH;
    const stripes = svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      svg("path", { d: "M-6 6L0 0M0 6L6 0M6 6L12 0", stroke: this.color(ground), "stroke-width": 1.5, "stroke-opacity": 0.6 }));
    this.root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` }, svg("defs", {}, stripes));
  }

  paint(color) {
    return color === HATCH ? color : this.color(color);
  }

  fillRect(x, y, width, height) {
    if (!(width > 0 && height > 0)) return;
    const alpha = this.globalAlpha === 1 ? null : this.globalAlpha;
    this.root.append(svg("rect", { x: short(x), y: short(y), width: short(width), height: short(height), fill: this.paint(this.fillStyle), "fill-opacity": alpha }));
  }

  strokeRect(x, y, width, height) {
    this.root.append(svg("rect", { x: short(x), y: short(y), width: short(width), height: short(height), fill: "none", stroke: this.paint(this.strokeStyle), "stroke-width": this.lineWidth }));
  }

  fillText(text, x, y) {
    const alpha = this.globalAlpha === 1 ? null : this.globalAlpha;
    this.root.append(svg("text", { x: short(x), y: short(y), "font-size": 11, "font-family": "monospace", "dominant-baseline": "central", "xml:space": "preserve", fill: this.paint(this.fillStyle), "fill-opacity": alpha }, text));
  }
}

function short(number) {
  return Number(number.toFixed(2));
}
