/** Prints the report of a trace. */

import { closeSync, openSync, readSync } from 'node:fs';
import type { Report } from '../common/trace/core.js';
import { printable } from './cli-args.js';
import { openTrace } from './core.js';

/** Bytes of a trace that are read at a time. */
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

export async function printReport(path: string, format: 'table' | 'json', limit: number, compensate: boolean): Promise<void> {
    const text = await reportText(path, compensate);
    process.stdout.write(format === 'json' ? text : table(JSON.parse(text) as WithUnits<Report>, limit));
}

/** The first `top` rows of a page's report, or all for 0. */
export async function pageText(path: string, top: number): Promise<string> {
    const report = JSON.parse(await reportText(path, false)) as WithUnits<Report>;
    const limit = top === 0 ? report.functions.length : top;
    return `# page:  ${printable(report.command[0] ?? 'a page')}\n${table(report, limit)}# trace: ${path}\n\n`;
}

/** Durations' keys end in `_nanos`, or in `_instructions` with that clock. */
type WithUnits<Of> = Of & Record<string, unknown>;

/** The functions with the most self time, as a table. */
function table(report: WithUnits<Report>, limit: number): string {
    const { outcome, calls, functions, sampling, warnings } = report;
    const counts = report['wall_instructions'] !== undefined;
    const figure = (of: WithUnits<object>, key: string): string => (counts ? instructions : millis)(of[`${key}_${counts ? 'instructions' : 'nanos'}`] as number | null);
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
