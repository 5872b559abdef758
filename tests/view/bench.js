// How long the page takes to open, and a frame of the timeline while it is zoomed and moved: `node bench.js [STEPS]`, for as many steps of the Game
// of Life. 500 are 2.0 M calls; 25,000 are 100 M.
//
// Prints the time that our drawing takes, as a ratio to a floor of the same run: as many plain rectangles of the same sizes
// on a canvas of the same size, with nothing to decide.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import path from "node:path";
import { LIFE, browser, folder, kperf, open, whyNot } from "./setup.js";

const STEPS = Number(process.argv[2] ?? 500);
const reason = whyNot();
if (reason) {
  console.log(`not measured: ${reason}`);
  process.exit(0);
}

const cwd = folder();
kperf(cwd, "run", "--quiet", "--clock", "precise", "--trace", "life.kperf", LIFE, String(STEPS));
const begun = performance.now();
kperf(cwd, "view", "life.kperf", "--no-open");
const written = performance.now() - begun;
const file = path.join(cwd, "life.html");
const chromium = await browser();
const loading = performance.now();
const { page, wrong } = await open(chromium, `file://${file}`, { viewport: { width: 1600, height: 1000 } });
const loaded = performance.now() - loading;
const opening = await thread(page, `file://${file}`);

/** The milliseconds that the page's thread works until all of it is there: other programs don't matter. */
async function thread(page, address) {
  const debug = await page.context().newCDPSession(page);
  await debug.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto("about:blank");
  const work = async () => (await debug.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const before = await work();
  await page.goto(address);
  await page.waitForSelector("html[data-ready=true]", { state: "attached", timeout: 60_000 });
  return (await work()) - before;
}

const result = await page.evaluate(async () => {
  const { timeline } = kperf.views;
  const { chart } = timeline;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const draws = [];
  const intervals = [];
  let last = null;
  const step = async (work) => {
    work();
    const now = await frame();
    await 0;
    chart.draw();
    draws.push({ millis: chart.drawn.millis, bars: chart.drawn.bars });
    if (last !== null) intervals.push(now - last);
    last = now;
  };
  // Into the middle, along, and out again.
  for (let n = 0; n < 120; n++) await step(() => chart.zoom(0.95, 0.6));
  for (let n = 0; n < 120; n++) await step(() => chart.pan(n < 60 ? 0.1 : -0.1));
  for (let n = 0; n < 120; n++) await step(() => chart.zoom(1 / 0.95, 0.4));
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: chart.canvas.width, height: chart.canvas.height });
  const context = canvas.getContext("2d", { alpha: false });
  const floors = draws.map(({ bars }) => {
    const begun = performance.now();
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = "#abc";
    for (let n = 0; n < bars; n++) context.fillRect((n * 7) % canvas.width, (n % 40) * 20, 5, 19);
    return performance.now() - begun;
  });
  const calls = timeline.levels[0].lanes.flatMap(({ rows }) => rows).reduce((sum, row) => sum + row.calls.reduce((a, b) => a + b, 0), 0);
  return { draws, floors, intervals, calls, known: kperf.state.pageData.calls };
});
await chromium.close();
assert.deepEqual(wrong, []);
const CALLS = result.known;
assert.equal(result.calls, CALLS);
// A step makes 4,001 calls; the others begin and end the program.
assert.ok(CALLS > STEPS * 4_001 && CALLS < STEPS * 4_001 + 200, String(CALLS));

const at = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];
const three = (values) => [0.5, 0.95, 1].map((part) => at(values, part).toFixed(2)).join(" / ");
const millis = result.draws.map((draw) => draw.millis);
console.log(`${CALLS.toLocaleString("en-US")} calls: written in ${(written / 1000).toFixed(2)} s, ${(statSync(file).size / 1e6).toFixed(1)} MB, loaded in ${(loaded / 1000).toFixed(2)} s, of which its thread worked ${opening.toFixed(0)} ms`);
console.log("median / 95th percentile / longest of 360 frames, 1600 x 1000:");
console.log(`  bars a frame      ${[0.5, 0.95, 1].map((part) => at(result.draws.map((draw) => draw.bars), part)).join(" / ")}`);
console.log(`  drawing           ${three(millis)} ms`);
console.log(`  floor             ${three(result.floors)} ms`);
const sum = (values) => values.reduce((a, b) => a + b, 0);
console.log(`  drawing / floor   ${(sum(millis) / sum(result.floors)).toFixed(2)} (sums)`);
console.log(`  between frames    ${three(result.intervals)} ms`);
