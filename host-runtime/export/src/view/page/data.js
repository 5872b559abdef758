// The page's data: packed sections in base64, made by kperf-wasm. `columns.rs` says what is in them.

/** A section's bytes. */
export async function sectionBytes(name) {
  const element = document.querySelector(`script[data-section="${name}"]`);
  if (!element) throw new Error(`the page has no section ${name}`);
  const packed = base64Bytes(element.textContent);
  // Its text is not needed any more, and large.
  element.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Megabytes of it, so not by an iterator: that takes twenty times as long. */
export function base64Bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = characters.charCodeAt(n);
  return bytes;
}

/** A section that is JSON. */
export async function sectionJson(name) {
  return JSON.parse(new TextDecoder().decode(await sectionBytes(name)));
}

/** Reads LEB128 numbers, up to 2^53. */
export class Numbers {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let factor = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte >= 0x80);
    return value;
  }

  /** The next `count` numbers, into `column`. */
  fill(column, count) {
    for (let n = 0; n < count; n++) column[n] = this.next();
    return column;
  }
}

/** A level of the timeline: for each lane its rows, each with the columns `start`, `end` (ticks), `func` and `calls`. */
export function readLevel(bytes) {
  const numbers = new Numbers(bytes);
  const lengths = [];
  for (let lane = numbers.next(); lane > 0; lane--) {
    const tracks = numbers.next();
    lengths.push(Array.from({ length: tracks }, () => numbers.next()));
  }
  const all = lengths.flat().reduce((sum, length) => sum + length, 0);
  const start = new Float64Array(all);
  const end = new Float64Array(all);
  numbers.fill(start, all);
  numbers.fill(end, all);
  const func = numbers.fill(new Uint32Array(all), all);
  const calls = numbers.fill(new Uint32Array(all), all);
  let at = 0;
  return lengths.map((tracks) =>
    tracks.map((length) => {
      const from = at;
      at += length;
      let now = 0;
      for (let n = from; n < at; n++) {
        start[n] += now;
        now = end[n] += start[n];
      }
      const part = (column) => column.subarray(from, at);
      return { start: part(start), end: part(end), func: part(func), calls: part(calls) };
    }),
  );
}

/** The flame graph's nodes, the root first, parents before children: columns `parent`, `func`, `calls`, `total`, `self`. */
export function readFlame(bytes) {
  const numbers = new Numbers(bytes);
  const count = numbers.next();
  const parent = numbers.fill(new Uint32Array(count), count);
  for (let n = 0; n < count; n++) parent[n] = n - parent[n];
  const column = (type) => numbers.fill(new type(count), count);
  return {
    parent,
    func: column(Uint32Array),
    calls: column(Float64Array),
    total: column(Float64Array),
    self: column(Float64Array),
  };
}

/**
 * The slices of the run: their `start` and `end` in ticks, and for each node of the flame graph, from `first[node]` to
 * `first[node + 1]`, entries with the columns `slice`, `ticks` and `calls`.
 */
export function readSlices(bytes, nodes) {
  const numbers = new Numbers(bytes);
  const count = numbers.next();
  const start = numbers.fill(new Float64Array(count), count);
  const end = numbers.fill(new Float64Array(count), count);
  let now = 0;
  for (let n = 0; n < count; n++) {
    const back = start[n] % 2 === 1;
    start[n] = now + (back ? -(start[n] - 1) : start[n]) / 2;
    now = end[n] += start[n];
  }
  const first = new Uint32Array(nodes + 1);
  for (let n = 0; n < nodes; n++) first[n + 1] = first[n] + numbers.next();
  const all = first[nodes];
  const slice = numbers.fill(new Uint32Array(all), all);
  for (let n = 0; n < nodes; n++) {
    for (let at = first[n] + 1; at < first[n + 1]; at++) slice[at] += slice[at - 1];
  }
  const ticks = numbers.fill(new Float64Array(all), all);
  const calls = numbers.fill(new Float64Array(all), all);
  return { start, end, first, slice, ticks, calls };
}

/** What of the trace the views share: the pageData's functions as objects, their callers and callees. */
export function readPageData(pageData) {
  const columns = pageData.functions;
  const sums = new Set([...pageData.pauses, pageData.other]);
  // What is no function has no share.
  const shareOf = (self, index) => (sums.has(index) && columns.module[index] < 0 ? NaN : pageData.selfNanos > 0 ? self / pageData.selfNanos : 0);
  const functions = columns.name.map((name, index) => ({
    index,
    name,
    module: pageData.modules[columns.module[index]] ?? "",
    imported: columns.imported[index],
    place: pageData.places[columns.place[index]] ?? "",
    counted: columns.counted[index],
    calls: columns.calls[index],
    total: columns.totalNanos[index],
    /** The part of the total without the recorder and waits: what shares of totals are of. */
    running: columns.totalNanos[index] - columns.pausedNanos[index],
    self: columns.selfNanos[index],
    min: columns.minNanos[index] ?? NaN,
    max: columns.maxNanos[index] ?? NaN,
    average: columns.averageNanos[index] ?? NaN,
    cutShort: columns.cutShort[index],
    share: shareOf(columns.selfNanos[index], index),
    shareError: columns.shareError?.[index] ?? null,
    callers: [],
    callees: [],
  }));
  const outside = { index: functions.length, name: "[host]", module: "", imported: true, callers: [], callees: [] };
  const all = [...functions, outside];
  const { caller, callee, calls, totalNanos } = pageData.edges;
  const edges = caller.map((from, n) => ({ from, to: callee[n], calls: calls[n], total: totalNanos[n] }));
  for (const edge of edges) {
    all[edge.from].callees.push(edge);
    all[edge.to].callers.push(edge);
  }
  const key = (from, to) => from * all.length + to;
  const placeOf = new Map(caller.map((from, n) => [key(from, callee[n]), pageData.places[pageData.edges.place[n]] ?? ""]));
  return { ...pageData, functions, edges, placeOf: (from, to) => placeOf.get(key(from, to)) ?? "", nameOf: (index) => all[index]?.name ?? "" };
}
