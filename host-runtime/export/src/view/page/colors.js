// A function has the same color in every view: its hue comes from its name.

const HUES = 24;

/** Colors for both themes: `fill(func)` for bars, `heat(share)` for shares of the run. */
export class Colors {
  constructor(pageData) {
    this.hues = hues(pageData.functions);
    this.imported = pageData.functions.map((func) => func.imported);
    this.setTheme("light");
  }

  setTheme(theme) {
    this.dark = theme === "dark";
    this.fills = [];
  }

  /** What a function's bars are filled with. Those of the host are grey. */
  fill(func) {
    return (this.fills[func] ??= this.make(func));
  }

  make(func) {
    const hue = this.hues[func];
    const lightness = this.dark ? 0.47 : 0.83;
    if (hue === undefined || this.imported[func]) return `oklch(${lightness} 0.012 250)`;
    // Blue and violet look stronger than the others at the same chroma.
    const chroma = (hue > 230 && hue < 330 ? 0.075 : 0.085) * (this.dark ? 0.95 : 1);
    return `oklch(${lightness} ${chroma} ${hue})`;
  }

  /** From the surface's grey to red, for a share from 0 to 1. */
  heat(share) {
    const much = Math.min(1, Math.sqrt(Math.max(0, share)));
    return this.dark
      ? `oklch(${0.3 + 0.16 * much} ${0.012 + 0.13 * much} ${40 - 15 * much})`
      : `oklch(${0.965 - 0.2 * much} ${0.006 + 0.125 * much} ${45 - 18 * much})`;
  }
}

/** A hue per function. The longest ones, which are seen side by side, have different ones as long as there are any. */
function hues(functions) {
  const taken = new Set();
  return functions.map(({ name }) => {
    let slot = hashOf(name) % HUES;
    if (taken.size < HUES) {
      while (taken.has(slot)) slot = (slot + 7) % HUES;
      taken.add(slot);
    }
    return (slot * 360) / HUES + 10;
  });
}

/** FNV-1a. */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193);
  return hash >>> 0;
}
