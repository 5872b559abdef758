// The page of a dataset: figures of many runs, without a timeline.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIFE, browser, folder, kperf, open, whyNot } from "./setup.js";

const reason = whyNot();

describe("the page of a dataset", { skip: reason ?? false }, () => {
  const cwd = folder();
  let chromium;
  before(async () => {
    for (const [version, steps] of [["a", "2"], ["b", "3"]]) {
      kperf(cwd, "run", "--quiet", "--clock", "test", "--trace", `${version}.kperf`, LIFE, steps);
      kperf(cwd, "collect", "--quiet", `${version}.kperf`, "-o", "dataset", "--service-version", version, "--run-id", version);
    }
    chromium = await browser();
  });
  after(() => chromium?.close());

  async function page(name, args, work) {
    kperf(cwd, "view", ...args, "--no-open", "-o", `${name}.html`);
    const { page, wrong } = await open(chromium, `file://${path.join(cwd, name)}.html`);
    const answer = await work(page);
    assert.deepEqual(wrong, []);
    await page.close();
    return answer;
  }
  const calls = (page) => page.evaluate(() => Object.fromEntries(kperf.state.pageData.functions.map(({ name, calls }) => [name, calls])));

  test("has the sums of all runs, and three tabs", () => page("all", ["dataset"], async (page) => {
    const [a, b, all] = [await of("a"), await of("b"), await calls(page)];
    for (const name of Object.keys(all)) assert.equal(all[name], (a[name] ?? 0) + (b[name] ?? 0), name);
    assert.deepEqual(await page.locator("#tabs button").allTextContents(), ["Flame graph", "Table", "Call graph"]);
    assert.match(await page.locator("#notes").textContent(), /there is no timeline: a dataset has sums of calls, not single ones/);
    for (const [key, name] of [["2", "table"], ["3", "graph"], ["1", "flame"], ["4", "flame"]]) {
      await page.keyboard.press(key);
      assert.equal(await page.evaluate(() => kperf.state.view.value), name);
      assert.equal(await page.locator(`#view-${name}`).isVisible(), true);
    }
    await page.waitForFunction(() => kperf.views.flame.chart.placed);
    await page.locator("#tab-flame").focus();
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => kperf.state.view.value), "graph");
    assert.equal(await page.locator("text=Select what is seen").isVisible(), false);
  }));

  test("an address can't select a time that nobody knows", () => page("address", ["dataset"], async (page) => {
    await page.evaluate(() => (location.hash = "#tab=timeline&select=0~10"));
    await page.waitForFunction(() => kperf.state.view.value === "flame");
    assert.equal(await page.evaluate(() => kperf.state.selection.value), null);
  }));

  test("says which runs it is of", () => page("one", ["dataset", "--where", "version = 'a'"], async (page) => {
    assert.equal(await page.locator("#title").textContent(), "dataset where version = 'a'");
  }));

  /** What the page has of one version; it has that of its trace. */
  async function of(version) {
    const one = await page(`of-${version}`, ["dataset", "--where", `version = '${version}'`], calls);
    const trace = await page(`trace-${version}`, [`${version}.kperf`], calls);
    const sum = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
    assert.equal(sum(one), sum(trace));
    return one;
  }
});
