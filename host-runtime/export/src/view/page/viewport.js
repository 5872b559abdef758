// The visible part of an axis.

/** A range `start` to `end` within 0 to `extent`; never less than `min` wide. */
export class Viewport {
  constructor(extent, min) {
    this.reset(extent, min);
  }

  /** Shows all of an axis, which may be another one. */
  reset(extent, min) {
    this.extent = Math.max(extent, Number.MIN_VALUE);
    this.min = Math.min(min, this.extent);
    this.start = 0;
    this.end = this.extent;
  }

  get width() {
    return this.end - this.start;
  }

  /** Shows this range, moved into the axis and widened as far as it must be. */
  show(start, end) {
    const width = Math.min(this.extent, Math.max(this.min, end - start));
    const middle = (start + end) / 2;
    this.start = Math.min(Math.max(0, middle - width / 2), this.extent - width);
    this.end = this.start + width;
  }

  /** Makes the range `factor` times as wide; the point at `fraction` of its width stays where it is. */
  zoom(factor, fraction) {
    const width = Math.min(this.extent, Math.max(this.min, this.width * factor));
    const fixed = this.start + this.width * fraction;
    const start = Math.min(Math.max(0, fixed - width * fraction), this.extent - width);
    this.start = start;
    this.end = start + width;
  }

  /** Moves by so much of the range's own width. */
  pan(fraction) {
    const { width } = this;
    this.start = Math.min(Math.max(0, this.start + width * fraction), this.extent - width);
    this.end = this.start + width;
  }

  copy() {
    return Object.assign(new Viewport(this.extent, this.min), { start: this.start, end: this.end });
  }
}

/** The first index of sorted `values` whose value is above `limit`. */
export function firstAbove(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}
