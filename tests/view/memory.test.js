// Memory over time, above the calls: bytes that the program says itself.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ROOT, browser, folder, kperf, open, whyNot } from "./setup.js";

const reason = whyNot();

describe("memory over time", { skip: reason ?? false }, () => {
  const cwd = folder();
  let chromium;
  before(async () => (chromium = await browser()));
  after(() => chromium?.close());

  async function page(name, flags, work) {
    const module = path.join(ROOT, "examples/allocations", name);
    kperf(cwd, "run", "--quiet", "--clock", "test", "--trace", `${name}.kperf`, ...flags, module);
    kperf(cwd, "view", `${name}.kperf`, "--no-open", "-o", `${name}.html`);
    const { page, wrong } = await open(chromium, `file://${path.join(cwd, name)}.html`);
    await work(page);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  const painted = (page) => page.evaluate(() => {
    const canvas = document.querySelector(".memory canvas");
    const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: width }, (_, x) => Array.from({ length: height }, (_, y) => data[4 * (y * width + x) + 3]).filter((alpha) => alpha > 0).length);
  });

  test("blocks that come and go", () => page("known.c.wasm", ["--allocations", "all"], async (page) => {
    assert.equal(await page.locator(".memory .label").textContent(), "memory: at most 1.00 MiB, at the end 5,050 bytes");
    await page.waitForFunction(() => kperf.views.timeline.chart.placed);
    const heights = await painted(page);
    assert.ok(Math.max(...heights) >= 36 && heights.filter((high) => high < 10).length > heights.length / 2, `${heights}`);
    const { ticks, liveBytes } = await page.evaluate(() => kperf.state.pageData.memory);
    assert.deepEqual([ticks.length, liveBytes.at(-1)], [liveBytes.length, 5050]);
    assert.ok(ticks.every((at, n) => n === 0 || at >= ticks[n - 1]), "in order");
    const box = await page.locator(".memory").boundingBox();
    await page.mouse.move(box.x + box.width - 1, box.y + 20);
    await page.waitForFunction(() => / there at /.test(document.querySelector(".memory .label").textContent));
  }));

  test("objects that are collected", () => page("known.kotlin.wasm", ["--allocations", "all"], async (page) => {
    assert.match(await page.locator(".memory .label").textContent(), /^collected objects made: \d+ KiB; when they are collected isn't recorded$/);
    const heights = await painted(page);
    assert.ok(heights.at(-1) >= heights[0] && heights.at(-1) >= 36, `${heights}`);
  }));

  test("without allocations there is none", () => page("known.rust.wasm", [], async (page) => {
    assert.equal(await page.locator(".memory").count(), 0);
  }));
});
