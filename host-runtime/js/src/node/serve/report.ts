/** Reports of pages, made in a thread of their own: a long trace takes seconds, and pages wait for the server. */

import { Worker } from 'node:worker_threads';
import type { ReportData } from './report-thread.js';

/** One after the other. */
let printing: Promise<unknown> = Promise.resolve();

/** Prints the top of a page's profile; all of it for 0. */
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
