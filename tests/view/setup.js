// What tests and benchmark share: Chromium, the program, pages of traces.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const LIFE = path.join(ROOT, "examples/game-of-life/rust/life.wasm");
const CHROMIUM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Without the middle ones Chromium looks for its maker's hosts at every start. */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Why there is no browser to test in; null if there is one. */
export function whyNot() {
  if (!CHROMIUM.some((file) => file && existsSync(file))) return "there is no Chromium here (apt-get install chromium, or CHROMIUM=path)";
  if (!existsSync(new URL("node_modules/playwright-core", import.meta.url))) return "playwright-core is not installed (npm ci in tests/view)";
  return null;
}

export async function browser() {
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM.find((file) => file && existsSync(file)), args: FLAGS });
}

/** A folder for traces and pages. */
export function folder() {
  return mkdtempSync(path.join(tmpdir(), "kperf-view-"));
}

/** Runs our program in a folder; its stdout and stderr. KPERF is the binary, or cargo finds it. */
export function kperf(cwd, ...args) {
  const [file, before] = process.env.KPERF
    ? [process.env.KPERF, []]
    : ["cargo", ["run", "--quiet", "--release", "--manifest-path", path.join(ROOT, "Cargo.toml"), "--"]];
  return execFileSync(file, [...before, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Records a module and makes its page; answers the page's address. Last there may be an object: `detail` is view's --detail. */
export function pageOf(cwd, name, module, ...args) {
  const { detail } = typeof args.at(-1) === "object" ? args.pop() : {};
  kperf(cwd, "run", "--quiet", "--clock", "test", "--trace", `${name}.kperf`, module, ...args);
  kperf(cwd, "view", `${name}.kperf`, "--no-open", "-o", `${name}.html`, ...(detail ? ["--detail", String(detail)] : []));
  return `file://${path.join(cwd, name)}.html`;
}

/** Opens a page and waits until all of it is there. Answers it and what went wrong in it: errors, and whatever it fetched. */
export async function open(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
  const wrong = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (url.split("#")[0] !== address.split("#")[0] && !url.startsWith("data:") && !url.startsWith("blob:")) wrong.push(`it fetches ${url}`);
  });
  await page.goto(address);
  await page.waitForSelector("html[data-ready=true]", { state: "attached", timeout: 60_000 });
  return { page, wrong };
}
