// The page's parts that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";

const page = (name) => import(`../../host-runtime/profile/src/export/view/page/${name}.js`);
const { Viewport, firstAbove } = await page("viewport");
const { Numbers } = await page("data");
const { axisStep, axisText, lastPart, nanosText, shortName } = await page("format");
const { layered } = await page("layers");
const { flameRows } = await page("flame");

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
  assert.equal(axisText(2_500_000, 500_000), "2,500 µs");
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
