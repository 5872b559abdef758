/** What is printed of a trace. */

import { closeSync, openSync, readSync } from 'node:fs';
import type { Report } from '../common/core.js';
import { printable } from './cli-args.js';
import { openTrace } from './core.js';

/** How much of a trace is read at a time. */
const PIECE = 1 << 24;

async function reportText(path: string, compensate: boolean): Promise<string> {
    const trace = await openTrace({ tree: true });
    const file = openSync(path, 'r');
    try {
        const piece = new Uint8Array(PIECE);
        for (let length; (length = readSync(file, piece)) > 0; ) trace.push(piece.subarray(0, length));
    } finally {
        closeSync(file);
    }
    trace.end();
    return trace.reportText(compensate);
}

/** Prints a report. */
export async function printReport(path: string, format: 'table' | 'json', limit: number, compensate: boolean): Promise<void> {
    const text = await reportText(path, compensate);
    process.stdout.write(format === 'json' ? text : table(JSON.parse(text) as Report, limit));
}

/** The top of a page's profile, to print; all of it for 0. */
export async function pageText(path: string, top: number): Promise<string> {
    const report = JSON.parse(await reportText(path, false)) as Report;
    const limit = top === 0 ? report.functions.length : top;
    return `# page:  ${printable(report.command[0] ?? 'a page')}\n${table(report, limit)}# trace: ${path}\n\n`;
}

/** The functions with the most time of their own, as lines. */
function table({ outcome, wall_nanos, calls, functions, sampling, warnings }: Report, limit: number): string {
    const head = ['self %', 'self', 'total', 'calls', 'function'];
    const rows = functions.slice(0, limit).map(({ name, calls, total_nanos, self_nanos, share }) => [
        share === null ? '-' : (100 * share).toFixed(1), millis(self_nanos), millis(total_nanos), calls.toLocaleString('en'), printable(name),
    ]);
    const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]!.length)));
    const line = (row: string[]): string => row.map((text, n) => (n === head.length - 1 ? text : text.padStart(widths[n]!))).join('  ');
    const more = functions.length > limit ? [`(${functions.length - limit} more: --limit ${functions.length})`] : [];
    const first = `# wall: ${millis(wall_nanos)}, ${printable(outcome ?? 'not completed')}; ${calls.toLocaleString('en')} calls of ${functions.length} functions`;
    const sampled = sampling ? [`# samples: ${sampling.samples.toLocaleString('en')}, one in ${(sampling.period_nanos / 1e3).toFixed(3)} us: counts are exact, times are estimates`] : [];
    return [first, ...sampled, line(head), ...rows.map(line), ...more, ...warnings.map((warning) => `# ${printable(warning)}`), ''].join('\n');
}

function millis(nanos: number | null): string {
    return nanos === null ? '-' : `${(nanos / 1e6).toFixed(3)} ms`;
}
