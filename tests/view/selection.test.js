// Selected ranges of time, the ways of the flame graph, the address, and what is saved: in a real browser, by the test clock.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { LIFE, browser, folder, kperf, open, pageOf, whyNot } from "./setup.js";

/** Names that a spreadsheet or a page would take for something else, and a function that calls itself by another. */
const ODD = `(module
  (func $"=1+1,\\"<img src=x onerror=alert(1)>" (export "f") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 7))))
    (call $"</script><b>b" (i32.sub (local.get 0) (i32.const 1))))
  (func $"</script><b>b" (param i32) (result i32) (call $"=1+1,\\"<img src=x onerror=alert(1)>" (local.get 0))))`;

const reason = whyNot();
if (reason) console.log(`the page is not tested: ${reason}`);

describe("the page", { skip: reason ?? false }, () => {
  let chromium, cwd, life, odd;

  before(async () => {
    cwd = folder();
    writeFileSync(path.join(cwd, "odd.wat"), ODD);
    life = pageOf(cwd, "life", LIFE, "20");
    odd = pageOf(cwd, "odd", path.join(cwd, "odd.wat"), "--invoke", "f", "4");
    chromium = await browser();
  });
  after(() => chromium?.close());

  async function on(address, work, options) {
    const { page, wrong } = await open(chromium, address, options);
    await work(page);
    assert.deepEqual(wrong, []);
    await page.close();
  }
  /** Selects a range, and waits until the figures are those of it. */
  async function select(page, start, end) {
    await page.evaluate(([start, end]) => kperf.state.selection.set({ start, end }), [start, end]);
    await page.waitForFunction(() => !kperf.state.figures.value.whole);
  }
  const figures = (page) => page.evaluate(() => Object.fromEntries(kperf.state.figures.value.functions
    .filter(({ calls }) => calls > 0).map(({ name, calls, self, total }) => [name, { calls, self: Math.round(self), total: Math.round(total) }])));
  /** The same from the command line, which reads every call. */
  function reported(range) {
    const { functions } = JSON.parse(kperf(cwd, "report", "life.kperf", "--format", "json", "--range", range));
    return new Map(functions.map((row) => [row.name, { self: row.self_nanos, total: row.total_nanos }]));
  }

  for (const [start, end] of [[1_000_000, 1_004_000], [20_000, 150_000_000], [77_777_000, 93_210_000]]) {
    test(`sums up the calls between ${start} and ${end} ns as a report does`, () => on(life, async (page) => {
      await select(page, start, end);
      const found = await figures(page);
      const wanted = reported(`${start}ns~${end}ns`);
      for (const [name, { self, total }] of Object.entries(found)) {
        assert.deepEqual([name, self, total], [name, wanted.get(name)?.self ?? 0, wanted.get(name)?.total ?? 0]);
      }
      const sum = (rows) => rows.reduce((sum, row) => sum + row.self, 0);
      assert.equal(sum(Object.values(found)), sum([...wanted.values()]));
      assert.equal(await page.locator("#selection .rest").textContent(), "", "nothing is approximate");
    }));
  }

  test("shows a selected selection in all views, and goes back", () => on(life, async (page) => {
    const canvas = page.locator(".timeline .chart canvas");
    const { x, y, width } = await canvas.boundingBox();
    await page.waitForFunction(() => kperf.views.timeline.chart.placed);
    await page.mouse.move(x + width / 4, y + 8);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 8, { steps: 5 });
    await page.mouse.up();
    assert.match(await page.locator("#selection").textContent(), /^Selected: 4\d\.\d+ ms from 40\.\d+ ms \(25\.\d % of the run\)/);
    await page.waitForFunction(() => !kperf.state.figures.value.whole);
    await page.keyboard.press("3");
    await page.waitForURL(/tab=table/);
    assert.equal(await page.locator(".functions tbody tr", { hasText: "life::is_valid_position" }).locator("td").nth(5).textContent(), "-");
    const calls = Number((await page.locator(".functions tbody tr", { hasText: "life::is_valid_position" }).locator("td").nth(3).textContent()).replaceAll(",", ""));
    assert.ok(calls > 14_000 && calls < 18_000, `${calls} of 64,000`);
    await page.keyboard.press("2");
    await page.waitForFunction(() => Math.abs(kperf.views.flame.chart.viewport.extent / kperf.state.pageData.wallTicks - 0.25) < 0.01);
    // The address is written in the next frame.
    await page.waitForURL(/tab=flame/);
    await page.goBack();
    await page.waitForURL(/tab=table/);
    await page.getByRole("button", { name: "All of the run" }).click();
    await page.waitForFunction(() => kperf.state.figures.value.whole);
    assert.equal(await page.locator("#selection").isVisible(), false);
  }));

  test("tells times from the selection, as finely as it is zoomed", () => on(`${life}#select=50000000~60000000&zoom=50000000~50020000`, async (page) => {
    // The coarse levels, which come in first, have no such span.
    const told = await (await page.waitForFunction(() => {
      const { chart } = kperf.views.timeline;
      const row = chart.placed?.[0].rows.findLast(({ start }) => start.some((at) => at > 50_003_000 && at < 50_020_000));
      if (!row) return null;
      const index = row.start.findIndex((start) => start > 50_003_000);
      return [chart.source.describe(row, index), (row.start[index] - 50_000_000) / 1000, `${((row.end[index] - row.start[index]) / 1000).toFixed(3)} µs`];
    })).jsonValue();
    assert.equal(told[0][1], `${told[2]}, at ${told[1].toFixed(1)} µs of the selection`);
  }));

  test("keeps what is looked at in its address", () => on(life, async (page) => {
    await page.keyboard.press("2");
    await page.getByRole("button", { name: "Bottom up" }).click();
    await page.keyboard.press("/");
    await page.keyboard.type("/^life::(step|play)$/");
    await page.keyboard.press("Enter");
    await select(page, 10_000_000, 20_000_000);
    await page.waitForFunction(() => location.hash.includes("select=10000000~20000000"));
    const { href } = new URL(page.url());
    await page.close();
    await on(href, async (again) => {
      await again.waitForFunction(() => !kperf.state.figures.value.whole);
      const seen = await again.evaluate(() => [kperf.state.view.value, kperf.state.tree.value, kperf.state.query.value, kperf.state.pageData.nameOf(kperf.state.selected.value), document.querySelector("#found").textContent]);
      assert.deepEqual(seen, ["flame", "up", "/^life::(step|play)$/", "life::step", "2 of 35"]);
      await again.evaluate(() => (location.hash = "#tab=table&sort=calls"));
      await again.waitForFunction(() => kperf.state.view.value === "table" && kperf.state.figures.value.whole && kperf.state.tree.value === "down");
      assert.equal(await again.locator("th[aria-sort=descending]").textContent(), "Calls");
    });
  }).catch((error) => { if (!/closed/.test(error)) throw error; }));

  test("survives any address", async () => {
    for (const hash of ["#%", "#select=5~1&zoom=x", "#function=%23999&tab=%3Cb%3E&tree=around", "#select=0~1e9", "#zoom=99999999999999999~1", "#find=/(/&sort=--", "#select=1~2&tab=flame&tree=around"]) {
      await on(life + hash, async (page) => {
        for (const key of "1234") await page.keyboard.press(key);
        await page.waitForFunction(() => document.querySelector(".graphs output").textContent !== "");
      });
    }
  });

  test("says that a pattern is none", () => on(life, async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("/life::(/");
    assert.equal(await page.locator("#found").textContent(), "no pattern");
    assert.equal(await page.locator("#search").getAttribute("aria-invalid"), "true");
    await page.locator("#search").fill("/IS_.*tion$/");
    assert.equal(await page.locator("#found").textContent(), "1 of 35");
  }));

  test("shows functions with their callers, and with both", () => on(`${life}#tab=flame&tree=up`, async (page) => {
    await page.waitForFunction(() => kperf.views.flame.chart.placed?.[0].rows.length > 3);
    const rows = () => page.evaluate(() => kperf.views.flame.only[0].rows.map((row) => [kperf.state.pageData.nameOf(row.func[0]), row.end[0] - row.start[0]]));
    const up = await rows();
    assert.deepEqual(up.slice(0, 4).map(([name]) => name), ["life::n_live_neighbors", "life::should_become_live", "life::step", "life::play"]);
    assert.ok(up.slice(1, 4).every(([, width]) => width === up[0][1]), "they have its self time alone");
    assert.equal(up[0][1], await page.evaluate(() => kperf.state.pageData.functions.find(({ name }) => name === "life::n_live_neighbors").self));
    await page.getByRole("button", { name: "Callers and callees" }).click();
    assert.match(await page.locator(".flame output").textContent(), /Select a function/);
    await page.evaluate(() => kperf.state.selected.set(kperf.state.pageData.functions.findIndex(({ name }) => name === "life::n_live_neighbors")));
    await page.waitForFunction(() => kperf.views.flame.chart.placed?.[0].rows.length > 3);
    const both = await rows();
    const total = await page.evaluate(() => kperf.state.pageData.functions.find(({ name }) => name === "life::n_live_neighbors").total);
    assert.deepEqual(both.slice(-4).map(([name]) => name), ["life::step", "life::should_become_live", "life::n_live_neighbors", "life::is_valid_position"]);
    assert.deepEqual(both.at(-2), ["life::n_live_neighbors", total]);
  }));

  test("counts recursion once, around a function too", () => on(`${odd}#tab=flame&tree=around&function=%230`, async (page) => {
    await page.waitForFunction(() => kperf.views.flame.chart.placed?.[0].rows.length > 3);
    const { rows, total } = await page.evaluate(() => ({ rows: kperf.views.flame.only[0].rows.map((row) => row.end[0] - row.start[0]), total: kperf.state.pageData.functions[0].total }));
    assert.equal(Math.max(...rows), total);
  }));

  test("draws calls that stay together hatched", () => on(pageOf(cwd, "few", LIFE, "20", { detail: 5_000 }), async (page) => {
    await page.waitForFunction(() => kperf.views.timeline.chart.placed);
    const found = await page.evaluate(() => {
      const { chart, levels } = kperf.views.timeline;
      const row = levels[0].lanes[0].rows.findLast(({ calls }) => calls.some((calls) => calls > 1));
      const index = row.calls.findIndex((calls) => calls > 1);
      chart.viewport.show(row.start[index] - 1, row.end[index] + 1);
      let hatched = 0;
      chart.context.fillRect = function (...place) {
        if (this.fillStyle instanceof CanvasPattern) hatched++;
        CanvasRenderingContext2D.prototype.fillRect.apply(this, place);
      };
      chart.draw();
      return { hatched, lines: chart.source.describe(row, index), title: chart.source.title(row, index), calls: row.calls[index] };
    });
    assert.ok(found.title.startsWith(`${found.calls.toLocaleString("en-US")} calls, `), found.title);
    assert.match(found.lines.join(), /the longest is named; this page has them together/);
    assert.ok(found.hatched > 0);
    assert.match(await page.locator("#notes").textContent(), /drawn together, hatched/);
    await page.keyboard.press("3");
    assert.doesNotMatch(await page.locator("#notes").textContent(), /drawn together/);
    await select(page, 1_000_000, 1_002_000);
    assert.match(await page.locator("#selection .rest").textContent(), /^Approximate: /);
  }));

  async function download(page, tab, what) {
    await page.keyboard.press(tab);
    await page.waitForFunction((tab) => tab !== "4" || document.querySelector(".graph .box"), tab);
    await page.locator(".menu summary").click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: what }).click()]);
    return readFileSync(await file.path());
  }

  test("saves pictures and tables, in which names are text", () => on(odd, async (page) => {
    for (const tab of ["1", "2"]) {
      const png = await download(page, tab, "Picture");
      assert.equal(png.toString("latin1", 1, 4), "PNG");
      assert.ok(png.readUInt32BE(16) > 400 && png.length > 2_000, `${png.readUInt32BE(16)} pixels wide`);
    }
    const saved = (await download(page, "4", "Picture")).toString();
    const told = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, "image/svg+xml");
      return { root: document.documentElement.localName, texts: document.querySelectorAll("text").length, odd: document.querySelectorAll("script, img, b, a, foreignObject").length, text: document.documentElement.textContent };
    }, saved);
    assert.deepEqual([told.root, told.odd], ["svg", 0]);
    assert.ok(told.texts > 3 && told.text.includes("<b>b"));
    assert.doesNotMatch(saved, /oklch|var\(|color-mix/);
    const table = (await download(page, "3", "CSV table")).toString();
    const lines = table.trimEnd().split("\r\n");
    assert.equal(lines[0], "function,module,calls,self_nanos,total_nanos,self_share,self_share_error,average_nanos,min_nanos,max_nanos,place");
    assert.ok(lines.some((line) => line.startsWith(`"'=1+1,""<img src=x onerror=alert(1)>",odd,5,`)), table);
    for (const [tab, head] of [["1", "lane,depth,function"], ["2", "depth,function"], ["4", "caller,callee"]]) {
      const saved = (await download(page, tab, "CSV table")).toString();
      assert.ok(saved.startsWith(head) && saved.split("\r\n").length > 3, saved);
    }
  }));

  test("runs nothing but its own script", () => on(odd, async (page) => {
    const ran = await page.evaluate(async () => {
      const refused = [];
      document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
      for (const tag of ["script", "style"]) {
        const element = document.createElement(tag);
        element.textContent = tag === "script" ? "globalThis.ran = true" : "body { outline: 1px solid }";
        document.body.append(element);
      }
      const image = document.createElement("div");
      image.innerHTML = "<img src=x onerror='globalThis.ran = true'>";
      document.body.append(image);
      await fetch("data:,x").catch(() => {});
      await new Promise((done) => setTimeout(done, 100));
      return { ran: globalThis.ran ?? false, refused: [...new Set(refused)].sort() };
    });
    assert.equal(ran.ran, false);
    for (const directive of ["connect-src", "img-src", "script-src-elem", "style-src-elem"]) assert.ok(ran.refused.includes(directive), ran.refused.join());
  }).catch((error) => { if (!/Content Security Policy|ERR_/.test(error)) throw error; }));
});
