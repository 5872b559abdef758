// The page in a real browser: two million calls of the Game of Life, by the test clock, so that every figure is known.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIFE, browser, folder, open, pageOf, whyNot } from "./setup.js";

const LONG = `std::map<${"std::pair<int, std::vector<double> >, ".repeat(60)}int>::operator[](int const&)`;
const RECURSION = `(module
  (func $"${LONG}" (export "f") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (call $"<b>&amp; evil" (i32.const 1)))))
    (call $"${LONG}" (i32.sub (local.get 0) (i32.const 1))))
  (func $"<b>&amp; evil" (param i32) (result i32) (local.get 0)))`;

const reason = whyNot();
if (reason) console.log(`the page is not tested: ${reason}`);

describe("the page", { skip: reason ?? false }, () => {
  let chromium, life, odd;

  before(async () => {
    const cwd = folder();
    writeFileSync(path.join(cwd, "odd.wat"), RECURSION);
    life = pageOf(cwd, "life", LIFE);
    odd = pageOf(cwd, "odd", path.join(cwd, "odd.wat"), "--invoke", "f", "5");
    chromium = await browser();
  });
  after(() => chromium?.close());

  /** Opens a page for one test, which must go without an error or a request. */
  async function on(address, options, work) {
    const { page, wrong } = await open(chromium, address, options);
    await work(page);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  const rows = (page) => page.locator(".functions tbody tr:not(.spacer)");
  /** Rows are drawn in the next frame. */
  const firstRowIs = (page, name) =>
    page.waitForFunction((name) => document.querySelector(".functions tbody tr:not(.spacer)").textContent.includes(name), name);
  const firstNames = async (page, count) => (await rows(page).locator("th").allTextContents()).slice(0, count);

  test("shows the run, and fetches nothing", () => on(life, {}, async (page) => {
    assert.equal(await page.title(), "life");
    assert.match(await page.locator("#facts").textContent(), /2,000,558 calls · 35 functions · 4\.\d+ s · wasmtime/);
    const sums = await page.evaluate(() => kperf.views.timeline.levels.map(({ lanes }) =>
      lanes.flatMap((lane) => lane.rows).reduce((sum, row) => sum + row.calls.reduce((a, b) => a + b, 0), 0)));
    assert.ok(sums.length > 3, `${sums.length} levels`);
    assert.ok(sums.every((sum) => sum === 2_000_558), `each level stands for all calls: ${sums}`);
  }));

  test("sorts its table", () => on(life, {}, async (page) => {
    await page.getByRole("tab", { name: "Table" }).click();
    await page.getByRole("button", { name: "Calls" }).click();
    await firstRowIs(page, "life::is_valid_position");
    assert.deepEqual((await firstNames(page, 4)).sort(), ["life::is_valid_position", "life::n_live_neighbors", "life::should_become_live", "life::step"]);
    assert.deepEqual((await firstNames(page, 1)), ["life::is_valid_position"]);
    assert.match(await rows(page).first().textContent(), /1,600,000/);
    assert.equal(await page.locator("th[aria-sort=descending]").textContent(), "Calls");
    await page.getByRole("button", { name: "Function", exact: true }).click();
    await firstRowIs(page, "__main_void");
    const names = await firstNames(page, 35);
    assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
  }));

  test("finds functions by their names", () => on(life, {}, async (page) => {
    await page.keyboard.press("3");
    await page.keyboard.press("/");
    await page.keyboard.type("VALID_pos");
    assert.equal(await page.locator("#found").textContent(), "1 of 35");
    await page.waitForFunction(() => document.querySelectorAll(".functions tbody tr:not(.spacer)").length === 1);
    assert.deepEqual(await firstNames(page, 2), ["life::is_valid_position"]);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#details h2").textContent(), "life::is_valid_position");
    assert.match(await page.locator("#details").textContent(), /Called bylife::n_live_neighbors1,600,000 calls/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#found").textContent(), "");
  }));

  test("zooms from the whole run into single calls", () => on(life, {}, async (page) => {
    const canvas = page.locator(".timeline .chart canvas");
    const { x, y, width } = await canvas.boundingBox();
    const seen = () => page.evaluate(() => {
      const { chart } = kperf.views.timeline;
      const level = kperf.views.timeline.lanes(chart.viewport.width / chart.width);
      return { width: chart.viewport.width, level: kperf.views.timeline.levels.findIndex(({ lanes }) => lanes === level), bars: chart.drawn.bars };
    });
    await page.waitForFunction(() => kperf.views.timeline.chart.drawn?.bars > 0);
    const all = await seen();
    assert.ok(all.level > 0 && all.bars > 100 && all.bars < width * 16, JSON.stringify(all));
    await page.mouse.move(x + width / 2, y + 100);
    for (let n = 0; n < 60; n++) await page.mouse.wheel(0, -300);
    await page.waitForFunction(() => kperf.views.timeline.chart.drawn.bars < 1000);
    const near = await seen();
    assert.equal(near.level, 0, "the finest level");
    assert.ok(near.width < all.width / 10_000, JSON.stringify(near));
    await canvas.focus();
    await page.keyboard.press("0");
    await page.waitForFunction((whole) => kperf.views.timeline.chart.viewport.width === whole, all.width);
  }));

  test("says by keys alone what a bar is", () => on(life, {}, async (page) => {
    await page.keyboard.press("2");
    await page.waitForFunction(() => kperf.views.flame.chart.placed);
    const said = () => page.locator("#said").textContent();
    for (let n = 0; n < 14 && !(await said()).startsWith("life::is_valid_position"); n++) await page.keyboard.press("ArrowDown");
    assert.match(await said(), /^life::is_valid_position, 1,600,000 calls on this path, total 1\.600 s \(40\.\d %\), self 1\.600 s \(40\.\d %\), 1\.000 µs a call$/);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#details h2").textContent(), "life::is_valid_position");
  }));

  test("draws the call graph with its counts", () => on(life, {}, async (page) => {
    await page.getByRole("tab", { name: "Call graph" }).click();
    await page.waitForFunction(() => document.querySelector(".graph .box"));
    const links = await page.locator(".graph .link title").allTextContents();
    for (const link of [/^life::play calls life::step 500 times/, /^life::step calls life::should_become_live 200,000 times/, /^life::should_become_live calls life::n_live_neighbors 200,000 times/, /^life::n_live_neighbors calls life::is_valid_position 1,600,000 times/]) {
      assert.equal(links.filter((text) => link.test(text)).length, 1, `${link} of ${links}`);
    }
    const box = page.getByRole("button", { name: /^life::step: / });
    await box.focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#details h2").textContent(), "life::step");
    const overlaps = await page.evaluate(() => {
      const boxes = [...document.querySelectorAll(".graph .box rect")].map((box) => box.getBoundingClientRect());
      return boxes.filter((a, n) => boxes.some((b, m) => m > n && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
    });
    assert.equal(overlaps, 0);
  }));

  test("is dark where that is wanted, and changes", () => on(life, { colorScheme: "dark" }, async (page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await background(), "rgb(21, 23, 26)");
    await page.keyboard.press("t");
    assert.equal(await background(), "rgb(246, 246, 244)");
  }));

  for (const width of [360, 820, 1920]) {
    test(`fits into ${width} pixels, with names of two thousand characters`, () => on(odd, { viewport: { width, height: 640 } }, async (page) => {
      for (const key of "1234") {
        await page.keyboard.press(key);
        await page.evaluate(() => kperf.state.selected.set(0));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.equal(wide, width, `view ${key}`);
      }
      const names = await page.evaluate(() => kperf.state.pageData.functions.map(({ name }) => name));
      assert.ok(names.some((name) => name.length > 2000) && names.includes("<b>&amp; evil"), names);
      assert.equal(await page.locator("main b").count(), 0);
    }));
  }
});
