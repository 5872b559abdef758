// Ranges of traces that a page can't draw call by call: more paths than can be seen, calls drawn together, calls too deep to be drawn.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIFE, browser, folder, kperf, open, pageOf, whyNot } from "./setup.js";

/** `left` and `right` call each other by the bits of a number: 2^15 paths lead to `leaf`, each once; there are 164,000 in all. */
const WIDE = `(module
  (func $leaf)
  (func $left (param i32) (call $next (local.get 0)))
  (func $right (param i32) (call $next (local.get 0)))
  (func $next (param i32)
    (if (i32.eqz (local.get 0)) (then (call $leaf) (return)))
    (call $left (i32.sub (local.get 0) (i32.const 1)))
    (call $right (i32.sub (local.get 0) (i32.const 1))))
  (func (export "f") (param i32) (call $next (local.get 0))))`;

/** `deep` calls itself, and `leaf` at the end and on the way. */
const DEEP = `(module
  (func $leaf)
  (func $deep (param i32)
    (call $leaf)
    (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1))))))
  (func (export "f") (param i32) (call $deep (local.get 0)) (call $deep (local.get 0))))`;

const reason = whyNot();
if (reason) console.log(`the page is not tested: ${reason}`);

describe("the page", { skip: reason ?? false }, () => {
  let chromium, cwd;
  before(async () => {
    cwd = folder();
    writeFileSync(path.join(cwd, "wide.wat"), WIDE);
    writeFileSync(path.join(cwd, "deep.wat"), DEEP);
    chromium = await browser();
  });
  after(() => chromium?.close());

  /** What the page and a report say of ranges of time: [{start, end, rest, page, report}], self and total in ns. */
  async function both(name, address, parts) {
    const { page, wrong } = await open(chromium, address);
    const all = await page.evaluate(() => kperf.state.pageData.wallTicks);
    const found = [];
    for (const [from, to] of parts) {
      const [start, end] = [from, to].map((part) => Math.round(all * part));
      const seen = await page.evaluate(async ([start, end]) => {
        const { state } = kperf;
        state.selection.set({ start, end });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const rows = state.figures.value.functions.filter(({ calls }) => calls > 0);
        return { rest: document.querySelector("#selection .rest").textContent, rows: rows.map(({ name, self, total }) => [name, { self, total }]) };
      }, [start, end]);
      const { functions } = JSON.parse(kperf(cwd, "report", `${name}.kperf`, "--format", "json", "--range", `${start}ns~${end}ns`));
      const report = new Map(functions.map((row) => [row.name, { self: row.self_nanos, total: row.total_nanos }]));
      found.push({ start, end, rest: seen.rest, page: new Map(seen.rows), report });
    }
    assert.deepEqual(wrong, []);
    await page.close();
    return found;
  }

  /** How far a function's figure is off at most, as a part of the selection, and which it is. */
  function worst({ start, end, page, report }, figure) {
    const off = [...report].map(([name, wanted]) => [Math.abs(wanted[figure] - (page.get(name)?.[figure] ?? 0)) / (end - start), name]);
    return off.sort((a, b) => b[0] - a[0])[0];
  }
  const PARTS = [[0.1, 0.6], [0.333, 0.339], [0.05, 0.0507], [0.9, 1]];

  test("has the figures of every path, though they are many", async () => {
    const address = pageOf(cwd, "wide", path.join(cwd, "wide.wat"), "--invoke", "f", "15");
    for (const found of await both("wide", address, PARTS)) {
      assert.equal(found.rest, "");
      for (const figure of ["self", "total"]) assert.deepEqual([figure, worst(found, figure)[0]], [figure, 0], `${found.start}: ${worst(found, figure)}`);
    }
  });

  test("shares out calls that are drawn together, at a range's ends", async () => {
    const address = pageOf(cwd, "few", LIFE, "20", { detail: 20_000 });
    for (const found of await both("few", address, PARTS)) {
      const told = /^Approximate: at its ends, calls that are drawn together share what ran in slices of [\d.]+ .?s\. Exact: kperf-wasm report TRACE --range (.*)$/.exec(found.rest);
      assert.equal(told?.[1], `${found.start}ns~${found.end}ns`, found.rest);
      // Each function's share of the selection is right to within two points; when the longest call took all, up to 52 points were wrong.
      for (const figure of ["self", "total"]) assert.ok(worst(found, figure)[0] < 0.02, `${found.start} ${figure}: ${worst(found, figure)}`);
    }
  });

  test("knows calls that are too deep to be drawn", async () => {
    const address = pageOf(cwd, "deep", path.join(cwd, "deep.wat"), "--invoke", "f", "1500");
    for (const found of await both("deep", address, PARTS)) {
      assert.ok(found.rest === "" || found.rest.startsWith("Approximate: at its ends, "), found.rest);
      for (const figure of ["self", "total"]) assert.ok(worst(found, figure)[0] < (found.rest === "" ? 1e-9 : 0.01), `${found.start} ${figure}: ${worst(found, figure)}`);
    }
  });
});
