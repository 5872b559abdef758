/** Prints reports of pages. A thread makes them: a long trace takes seconds, and pages wait for the server. */

import { Worker } from 'node:worker_threads';
import type { ReportData } from './report-thread.js';

/** Reports are printed one at a time. */
let printing: Promise<unknown> = Promise.resolve();

/** Prints the first `top` functions of a page's profile, or all for 0. */
export function printPage(path: string, top: number): Promise<void> {
    const printed = printing.then(async () => void process.stdout.write(await text({ kperf: 'report', path, top })));
    printing = printed.catch(() => undefined);
    return printed;
}

function text(data: ReportData): Promise<string> {
    const thread = new Worker(new URL('./report-thread.js', import.meta.url), { workerData: data, execArgv: ['--no-warnings'], stdin: false });
    return new Promise((resolve, reject) => {
        thread.on('message', resolve);
        thread.on('error', reject);
        thread.on('exit', () => reject(new Error(`${data.path}: the thread that reads it has ended`)));
    });
}
