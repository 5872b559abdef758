/** Prints reports of pages. A thread makes them: a long trace takes seconds, and pages wait for the server. */

import { askThread } from '../loading.js';
import type { ReportData } from './report-thread.js';

/** Reports are printed one at a time. */
let printing: Promise<unknown> = Promise.resolve();

/** Prints the first `top` functions of a page's profile, or all for 0. */
export function printPage(path: string, top: number): Promise<void> {
    const data: ReportData = { kperf: 'report', path, top };
    const printed = printing.then(async () => void process.stdout.write(await askThread<string>('serve/report-thread.js', data)));
    printing = printed.catch(() => undefined);
    return printed;
}
