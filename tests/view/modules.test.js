// The page's parts that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";

const page = (name) => import(`../../host-runtime/export/src/view/page/${name}.js`);
const { Viewport, firstAbove } = await page("viewport");
const { Numbers } = await page("data");
const { Accuracy, roughText } = await page("accuracy");
const { axisStep, columnName, lastPart, momentText, nanosText, percentText, setClock, shortName } = await page("format");
const { layered } = await page("layers");
const { around, bottomUp, flameRows } = await page("trees");
const { Tree, figuresOf } = await page("figures");
const { Slices } = await page("slices");
const { tester } = await page("state");
const { csvText } = await page("save");

test("a viewport stays within its axis and keeps the point under the mouse", () => {
  const viewport = new Viewport(1000, 1);
  viewport.zoom(0.1, 0.25);
  assert.deepEqual([viewport.start, viewport.end], [225, 325]);
  viewport.pan(-10);
  assert.deepEqual([viewport.start, viewport.end], [0, 100]);
  viewport.zoom(1e-9, 0.5);
  assert.equal(viewport.width, 1);
  viewport.zoom(1e9, 0.9);
  assert.deepEqual([viewport.start, viewport.end], [0, 1000]);
  viewport.show(990, 1090);
  assert.deepEqual([viewport.start, viewport.end], [900, 1000]);
});

test("the first value above a limit is found", () => {
  assert.deepEqual([0, 1, 2, 3].map((limit) => firstAbove([1, 2, 2, 3], limit)), [0, 1, 3, 4]);
});

test("numbers are read as they were written", () => {
  const numbers = new Numbers(Uint8Array.of(5, 0x80, 1, 0xe5, 0x8e, 0x26, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f));
  assert.deepEqual([1, 2, 3, 4].map(() => numbers.next()), [5, 128, 624485, Number.MAX_SAFE_INTEGER]);
});

test("times and names are short", () => {
  assert.deepEqual([0, 0.4, 61, 999.6, 1234, 999_999.6, 56_789_000, 2e9].map(nanosText), ["0 ns", "0.4 ns", "61 ns", "1.000 µs", "1.234 µs", "1.000 ms", "56.789 ms", "2.000 s"]);
  assert.deepEqual([axisStep(1000, 10), axisStep(1000, 7), axisStep(0.03, 4)], [100, 200, 0.01]);
  assert.deepEqual([[2_500_000, 500_000], [4_123_456_700, 100], [-40_000, 20_000], [0, 200_000_000, 1.2e9], [1_999_999_999, 1e8], [12_000, 1e9]].map((args) => momentText(...args)),
    ["2.5 ms", "4.1234567 s", "\u221240 µs", "0.0 s", "2.0 s", "12 µs"]);
  assert.deepEqual(["life::step", "main.play", "a<b::c>(d::e)", "std::f::<fn() -> x>", "plain"].map(lastPart), ["step", "play", "a<b::c>(d::e)", "std::f::<fn() -> x>", "plain"]);
  assert.deepEqual([30, 24, 14, 9, 3].map((room) => shortName("life::some::should_become_live", room)), ["life::some::should_become_live", "should_become_live", "should_…e_live", "should_b…", "sh…"]);
});

test("layers put callers above callees, without overlap, cycles and all", () => {
  const boxes = Array.from({ length: 7 }, () => ({ width: 100, height: 40 }));
  const links = [[0, 1], [0, 2], [1, 3], [2, 3], [0, 3], [3, 4], [4, 1], [5, 5], [4, 6]].map(([from, to]) => ({ from, to }));
  const { places, paths, width, height } = layered(boxes, links);
  for (const [from, to] of [[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [4, 6]]) assert.ok(places[from].y < places[to].y, `${from} above ${to}`);
  places.forEach((a, n) => places.forEach((b, m) => {
    assert.ok(m <= n || a.y !== b.y || Math.abs(a.x - b.x) >= 100, `${n} and ${m} overlap`);
  }));
  assert.ok(places.every(({ x, y }) => x >= 50 && x <= width - 50 && y >= 20 && y <= height - 20));
  links.forEach(({ from, to }, n) => {
    assert.deepEqual([paths[n][0], paths[n].at(-1)], [places[from], places[to]]);
  });
});

test("a flame graph's bars lie below their callers'", () => {
  const rows = flameRows({ parent: [0, 0, 1, 1, 0], func: [9, 1, 2, 3, 4], total: [100, 70, 20, 30, 30] });
  assert.deepEqual(rows.map(({ node, start, end }) => [...node].map((n, at) => [n, start[at], end[at]])), [
    [[0, 0, 100]],
    [[1, 0, 70], [4, 70, 100]],
    [[3, 0, 30], [2, 30, 50]],
  ]);
});

// main (0) calls a (1), which calls b (2), which calls a again; main calls b. The host is 3.
const NODES = { parent: Uint32Array.of(0, 0, 1, 2, 3, 1), func: Uint32Array.of(3, 0, 1, 2, 1, 2) };
const SHEET = { nanosPerTick: 2, functions: ["main", "a", "b"].map((name, index) => ({ name, index })) };
const TOTAL = Float64Array.of(100, 100, 60, 50, 20, 30);
const CALLS = Float64Array.of(0, 1, 2, 3, 4, 5);

test("functions' figures count recursion once", () => {
  const { functions, edges } = figuresOf(new Tree(NODES, 3), SHEET, { total: TOTAL, calls: CALLS });
  assert.deepEqual(functions.map(({ calls, self, total, average }) => [calls, self, total, average]), [[1, 20, 200, 200], [6, 60, 120, 160 / 6], [8, 120, 160, 20]]);
  assert.deepEqual(edges.map(({ from, to, calls, total }) => [from, to, calls, total]), [[3, 0, 1, 200], [0, 1, 2, 120], [1, 2, 3, 100], [0, 2, 5, 60], [2, 1, 4, 40]]);
  assert.deepEqual(functions[1].callers.map(({ from }) => from), [0, 2]);
});

test("paths go up from functions, and both ways from one", () => {
  const tree = new Tree(NODES, 3);
  const { nodes } = figuresOf(tree, SHEET, { total: TOTAL, calls: CALLS });
  const text = ({ rows }) => rows.map(({ func, start, end }) => [...func].map((func, n) => `${func}:${start[n]}-${end[n]}`).join(" "));
  assert.deepEqual(text(bottomUp(tree, nodes)), ["2:0-60 1:60-90 0:90-100", "1:0-30 0:30-60 2:60-80 0:80-90", "0:0-30 1:60-80", "0:60-80"]);
  assert.deepEqual(text(around(tree, nodes, 2)), ["0:0-50", "1:0-50 0:50-80", "2:0-80", "1:0-20"]);
  assert.deepEqual(around(tree, nodes, null).rows, []);
});

test("a range is whole slices, and calls or shares at its ends", () => {
  const columns = { start: Float64Array.of(0, 16, 32), end: Float64Array.of(16, 32, 48), first: Uint32Array.of(0, 0, 3, 3), slice: Uint32Array.of(0, 1, 2), ticks: Float64Array.of(8, 16, 4), calls: Float64Array.of(1, 0, 1) };
  const tree = new Tree({ parent: Uint32Array.of(0, 0, 1), func: Uint32Array.of(2, 0, 1) }, 2);
  const calls = (resolution, calls) => () => ({ resolution, lanes: [{ rows: [{ start: Float64Array.of(8, 40), end: Float64Array.of(32, 44), func: Uint32Array.of(0, 0), calls: Uint32Array.of(1, calls) }] }] });
  const sums = (level, from, to) => {
    // Where three calls are drawn together, the slice knows of three.
    columns.calls[2] = level()?.lanes[0].rows[0].calls[1] ?? 1;
    const { total, calls, rest } = new Slices(columns, tree, level).between(from, to);
    return [total[1], calls[1], rest, total[0]];
  };
  assert.deepEqual(sums(calls(1, 1), 10, 41), [23, 1, "calls", 23]);
  assert.deepEqual(sums(calls(2, 3), 10, 42), [24, 2, "merged", 24]);
  assert.deepEqual(sums(calls(8, 3), 8, 40), [24, 1, "calls", 24]);
  assert.deepEqual(sums(() => null, 8, 40), [22, 1, "shares", 22]);
  assert.deepEqual(sums(calls(1, 1), 12, 14), [2, 1, "calls", 2]);
  assert.deepEqual(sums(calls(1, 1), 100, 200), [0, 0, "calls", 0]);
  // No path has more than what called it.
  const fitted = (total) => (new Slices(columns, tree, () => null).fit(total), [...total]);
  assert.deepEqual(fitted(Float64Array.of(0, 10, 25)), [0, 10, 10]);
  assert.deepEqual(fitted(Float64Array.of(0, 10, 5)), [0, 10, 5]);
});

// main (0) calls a (1) and b (2) in turn; of sixteen ticks a has ten and b six.
const TURNS = { start: Float64Array.of(0), end: Float64Array.of(16), first: Uint32Array.of(0, 0, 1, 2, 3), slice: Uint32Array.of(0, 0, 0), ticks: Float64Array.of(16, 10, 6), calls: Float64Array.of(1, 4, 4) };
const row = (...spans) => ({ start: Float64Array.from(spans, ([start]) => start), end: Float64Array.from(spans, ([, end]) => end), func: Uint32Array.from(spans, ([, , func]) => func), calls: Uint32Array.from(spans, ([, , , calls]) => calls ?? 1) });

test("calls that are drawn together share what their functions had in the slice", () => {
  const tree = new Tree({ parent: Uint32Array.of(0, 0, 1, 1), func: Uint32Array.of(3, 0, 1, 2) }, 3);
  const between = (from, to, ...rows) => {
    const { total, rest } = new Slices(TURNS, tree, () => ({ resolution: 8, lanes: [{ rows }] })).between(from, to);
    return [...total.slice(1), rest];
  };
  // The longest of them doesn't get all.
  assert.deepEqual(between(0, 8, row([0, 16, 0]), row([0, 8, 1, 4], [8, 16, 1, 4])), [8, 5, 3, "merged"]);
  // What is drawn alone is exact; only the rest is shared out.
  assert.deepEqual(between(0, 8, row([0, 16, 0]), row([0, 6, 1], [6, 8, 2, 2], [8, 16, 1, 5])), [8, 6 + 4 * 0.2, 6 * 0.2, "merged"]);
  assert.deepEqual(between(2, 8, row([0, 16, 0]), row([0, 6, 1], [6, 8, 2], [8, 12, 1], [12, 16, 2])), [6, 4, 2, "calls"]);
  // A call alone, in calls that are drawn together, is on no path that is known.
  assert.deepEqual(between(0, 4, row([0, 16, 0, 2]), row([0, 4, 1])), [4, 10, 6, "merged"].map((value, n) => (n === 1 || n === 2 ? (value * 4) / 16 : value)));
  // Lanes and depths that aren't drawn: a share by time.
  assert.deepEqual(between(0, 4, row([0, 16, 0])), [4, 2.5, 1.5, "merged"]);
});

test("paths beyond the limit are those of the others", () => {
  // main (0) calls others (2), among them those of function 1; others in others are the same node.
  const tree = new Tree({ parent: Uint32Array.of(0, 0, 1), func: Uint32Array.of(3, 0, 2) }, 3);
  const columns = { ...TURNS, first: Uint32Array.of(0, 0, 1, 2), ticks: Float64Array.of(16, 10, 0), calls: Float64Array.of(1, 3, 0) };
  const level = { resolution: 1, lanes: [{ rows: [row([0, 16, 0]), row([1, 11, 1]), row([2, 4, 1], [5, 7, 0])] }] };
  const { total, calls, rest } = new Slices(columns, tree, () => level, 2).between(0, 6);
  assert.deepEqual([...total.slice(1), ...calls.slice(1), rest], [6, 5, 1, 3, "calls"]);
});

test("columns of a file say what they are in", () => {
  assert.deepEqual(["calls", "self_nanos"].map(columnName), ["calls", "self_nanos"]);
  setClock("instructions");
  assert.deepEqual(["calls", "self_nanos"].map(columnName), ["calls", "self_instructions"]);
  setClock("precise");
});

test("texts and expressions are found; values are one field of a table", () => {
  assert.deepEqual(["STEP", "/^life::st.p$/", "/p/"].map((typed) => tester(typed)("life::step")), [true, true, true]);
  assert.deepEqual([tester(""), tester("/(/"), tester("/")("a/b"), tester("//")("a//b")], [undefined, null, true, true]);
  assert.equal(csvText([["a,b", 'say "x"', 1.5], ["=cmd()", "-1", "@x\ny"]]), "\"a,b\",\"say \"\"x\"\"\",1.5\r\n'=cmd(),-1,\"'@x\ny\"\r\n");
});

test("figures have the digits of kperf-profile's", () => {
  const texts = [[108e6, 12e6], [108_234_000, 2_000], [3.34, 0.4], [0, 7_680], [700, 2_000], [0, 960_000], [999_960, 100], [5e9, 0], [1, Infinity]];
  assert.deepEqual(texts.map(([nanos, error]) => roughText(nanos, error)),
    ["110 ms", "108.234 ms", "3.3 ns", "<8 µs", "<3 µs", "<1 ms", "1.000 ms", "5.000 s", "?"]);
  const precision = { effectiveSamples: 1000, resolutionNanos: 1e6, selfNanos: 1e9, calls: 0, callNanos: 1, isEven: true };
  const all = new Accuracy(precision);
  assert.equal(percentText(0.5, all.shareError(0.5, 0)), "50.0 ± 3.1 %");
  assert.deepEqual([all.timeText(5e8), all.timeText(1e5), all.meanText(5e4, 5e8, 10_000), all.callText(4e5)], ["500 ms", "<3 ms", "50 µs", "<2 ms"]);
  const tenth = new Accuracy(precision, 0.1);
  assert.equal(percentText(0.5, tenth.shareError(0.5, 0)), "50.0 ± 9.6 %");
  const exact = new Accuracy(undefined);
  assert.deepEqual([exact.shareError(0.5, 1), exact.timeText(1.5e6), percentText(0.5, null), percentText(NaN, null)], [null, "1.500 ms", "50.0 %", "-"]);
});
