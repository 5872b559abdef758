// Firefox, Debian's. Nothing drives it: test pages post their results.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = process.env.KPERF_FIREFOX ?? '/usr/bin/firefox-esr';
/** No requests to other servers. */
const SETTINGS = {
    'app.normandy.enabled': false, 'app.update.enabled': false, 'browser.aboutwelcome.enabled': false,
    'browser.shell.checkDefaultBrowser': false, 'datareporting.policy.dataSubmissionEnabled': false,
    'network.captive-portal-service.enabled': false, 'network.connectivity-service.enabled': false,
    'toolkit.telemetry.enabled': false,
};
const PATIENCE = 180_000;

/** Whether it is installed. */
export const isHere = existsSync(PROGRAM);

/** Keeps a page open until `done` returns a result, and returns that. */
export async function visit(url, done) {
    const profile = mkdtempSync(join(tmpdir(), 'kperf-firefox-'));
    const lines = Object.entries(SETTINGS).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${value});\n`);
    writeFileSync(join(profile, 'user.js'), lines.join(''));
    const firefox = spawn(PROGRAM, ['--headless', '--no-remote', '--profile', profile, url], { stdio: 'ignore' });
    const ended = new Promise((resolve) => firefox.on('exit', resolve));
    try {
        for (const begun = Date.now(); Date.now() - begun < PATIENCE; ) {
            const answer = done();
            if (answer !== undefined) return answer;
            if (firefox.exitCode !== null) throw new Error('Firefox is gone');
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        throw new Error('the page in Firefox never came to an end');
    } finally {
        firefox.kill();
        await ended;
        // Its other processes may end later.
        rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
}
