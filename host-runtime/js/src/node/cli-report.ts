/** What is printed of a trace. */

import { closeSync, openSync, readSync } from 'node:fs';
import type { Report } from '../common/trace/core.js';
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
    process.stdout.write(format === 'json' ? text : table(JSON.parse(text) as Told<Report>, limit));
}

/** The top of a page's profile, to print; all of it for 0. */
export async function pageText(path: string, top: number): Promise<string> {
    const report = JSON.parse(await reportText(path, false)) as Told<Report>;
    const limit = top === 0 ? report.functions.length : top;
    return `# page:  ${printable(report.command[0] ?? 'a page')}\n${table(report, limit)}# trace: ${path}\n\n`;
}

/** What a report says of a duration: where instructions are the clock its key has them in the place of nanoseconds. */
type Told<Of> = Of & Record<string, unknown>;

/** The functions with the most time of their own, as lines. */
function table(report: Told<Report>, limit: number): string {
    const { outcome, calls, functions, sampling, warnings } = report;
    const counts = report['wall_instructions'] !== undefined;
    const figure = (of: Told<object>, key: string): string => (counts ? instructions : millis)(of[`${key}_${counts ? 'instructions' : 'nanos'}`] as number | null);
    const head = ['self %', 'self', 'total', 'calls', 'function'];
    const rows = functions.slice(0, limit).map((row) => [
        row.share === null ? '-' : (100 * row.share).toFixed(1), figure({ ...row }, 'self'), figure({ ...row }, 'total'), row.calls.toLocaleString('en'), printable(row.name),
    ]);
    const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]!.length)));
    const line = (row: string[]): string => row.map((text, n) => (n === head.length - 1 ? text : text.padStart(widths[n]!))).join('  ');
    const more = functions.length > limit ? [`(${functions.length - limit} more: --limit ${functions.length})`] : [];
    const first = `# ${counts ? `count: ${figure(report, 'self')}` : `wall: ${figure(report, 'wall')}`}, ${printable(outcome ?? 'not completed')}; ${calls.toLocaleString('en')} calls of ${functions.length} functions`;
    const sampled = sampling ? [`# samples: ${sampling.samples.toLocaleString('en')}, one in ${(sampling.period_nanos / 1e3).toFixed(3)} us: counts are exact, times are estimates`] : [];
    return [first, ...sampled, line(head), ...rows.map(line), ...more, ...warnings.map((warning) => `# ${printable(warning)}`), ''].join('\n');
}

function instructions(count: number | null): string {
    return count === null ? '-' : `${count.toLocaleString('en')} instr`;
}

function millis(nanos: number | null): string {
    return nanos === null ? '-' : `${(nanos / 1e6).toFixed(3)} ms`;
}
