// What axe finds in the page, in each tab, light and dark, wide and narrow; and that all of it can be reached on a small screen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIFE, ROOT, browser, folder, open, pageOf, whyNot } from "./setup.js";

const reason = whyNot();
if (reason) console.log(`the page is not tested: ${reason}`);

describe("the page", { skip: reason ?? false }, () => {
  let chromium, life, axe;

  before(async () => {
    life = pageOf(folder(), "life", LIFE, "3");
    axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    chromium = await browser();
  });
  after(() => chromium?.close());

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [390, 1280]) {
      test(`axe finds nothing, ${colorScheme}, ${width} pixels wide`, async () => {
        const { page, wrong } = await open(chromium, life, { colorScheme, viewport: { width, height: 800 } });
        // By the debugger's way, which the page's policy lets through.
        await page.evaluate(axe);
        const check = async (where) => {
          const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
          const told = found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 120)).join("\n")}`);
          assert.deepEqual(told, [], where);
          assert.ok(found.passes.length > 5);
        };
        for (const [key, name] of [["1", "timeline"], ["2", "flame graph"], ["3", "table"], ["4", "call graph"]]) {
          await page.keyboard.press(key);
          await page.waitForFunction((key) => key !== "4" || document.querySelector(".graph .box"), key);
          await check(name);
        }
        await page.evaluate(() => {
          kperf.state.selected.set(0);
          kperf.state.selection.set({ start: 100_000, end: 2_000_000 });
        });
        await page.waitForFunction(() => !kperf.state.figures.value.whole);
        for (const key of "1234") {
          await page.keyboard.press(key);
          await check(`a selection, tab ${key}`);
        }
        await page.locator(".menu summary").click();
        await check("the menu");
        await page.keyboard.press("Escape");
        await page.locator("#help").click();
        await check("the keys");
        assert.deepEqual(wrong, []);
        await page.close();
      });
    }
  }

  test("axe finds nothing in a call graph that is larger than its window, whose boxes have names", async () => {
    const go = pageOf(folder(), "go", path.join(ROOT, "examples/game-of-life/go/life.wasm"), "3");
    for (const width of [390, 1280]) {
      const { page, wrong } = await open(chromium, `${go}#tab=graph`, { viewport: { width, height: 800 } });
      await page.waitForFunction(() => document.querySelectorAll(".graph .box").length > 50);
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 120))]), [], width);
      assert.equal(await page.getByRole("button", { name: /^main\.step: 3 calls, total .* self / }).count(), 1);
      assert.deepEqual(wrong, []);
      await page.close();
    }
  });

  test("all columns, tabs and buttons can be reached at 390 pixels", async () => {
    const { page } = await open(chromium, life, { viewport: { width: 390, height: 800 } });
    for (const name of ["Timeline", "Flame graph", "Table", "Call graph"]) {
      const tab = page.getByRole("tab", { name });
      await tab.click();
      await page.getByRole("tab", { name, selected: true }).waitFor();
      await page.locator(".menu summary").click();
      await page.getByRole("button", { name: "CSV table" }).click({ trial: true });
      await page.keyboard.press("Escape");
    }
    await page.getByRole("tab", { name: "Table" }).click();
    for (const name of ["Function", "Self %", "Self", "Total", "Calls", "Average", "Shortest", "Longest"]) {
      const head = page.locator("thead").getByRole("button", { name, exact: true });
      await head.click();
      await head.evaluate((head) => head.scrollIntoView({ inline: "center" }));
      const { x, width } = await head.boundingBox();
      assert.ok(x >= 0 && x + width <= 391, `${name}: ${x} to ${x + width}`);
    }
    await page.close();
  });
});
