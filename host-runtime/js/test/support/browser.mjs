// A real browser, Debian's: Chromium, or Firefox with KPERF_BROWSER=firefox.
import { chromium, firefox } from 'playwright-core';

const FLAGS = [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
];

/** Which browser it is, as traces name it. */
export const BROWSER = process.env.KPERF_BROWSER ?? 'chromium';

/** Starts the browser; whoever does closes it. */
export function launch() {
    // By WebDriver BiDi, which Firefox speaks as it is.
    if (BROWSER === 'firefox') return firefox.launch({ channel: 'moz-firefox', executablePath: process.env.KPERF_FIREFOX ?? '/usr/bin/firefox-esr' });
    return chromium.launch({ executablePath: process.env.KPERF_CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** Opens a page and answers what its `globalThis.result` is fulfilled with; fails on errors in it. */
export async function open(browser, url) {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(String(error.stack)));
    // A server that fails for a while is part of a test.
    const isError = (message) => message.type() === 'error' && !message.text().includes('status of 503');
    page.on('console', (message) => isError(message) && errors.push(message.text()));
    await page.goto(url);
    const result = await page.evaluate(() => globalThis.result).catch((error) => errors.push(String(error)));
    if (errors.length > 0) throw new Error(errors.join('\n'));
    return { page, result };
}
