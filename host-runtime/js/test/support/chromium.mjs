// Chromium, Debian's.
import { chromium } from 'playwright-core';

const FLAGS = [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
];

/** Starts the browser, which the caller closes. */
export function launch(...flags) {
    const executablePath = process.env.KPERF_CHROMIUM ?? '/usr/bin/chromium';
    return chromium.launch({ executablePath, args: [...FLAGS, ...flags] });
}

/**
 * Opens a page and answers what its `globalThis.result` is fulfilled with; fails on errors in it, but for those that
 * are expected.
 */
export async function open(browser, url, expected = /^$/) {
    // Closing a page with its own context would end its requests, too.
    const page = await (await browser.newContext()).newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error.stack)));
    // Some tests have a server that fails for a while.
    const isError = (message) =>
        message.type() === 'error' && !message.text().includes('status of 503') && !expected.test(message.text());
    page.on('console', (message) => isError(message) && errors.push(message.text()));
    await page.goto(url);
    const result = await page.evaluate(() => globalThis.result).catch((error) => errors.push(String(error)));
    if (errors.length > 0) throw new Error(errors.join('\n'));
    return { page, result };
}
