/** Prints the report of a trace. */

import { closeSync, openSync, readSync } from 'node:fs';
import type { Report } from '../common/trace/core.js';
import { printable } from './cli-args.js';
import { openTrace } from './core.js';
import { exactText, plural, roughText, wilson } from './figures.js';

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
    const figure = (of: WithUnits<object>, key: string): number | null => of[`${key}_${counts ? 'instructions' : 'nanos'}`] as number | null;
    const exact = (number: number | null): string => (number === null ? '-' : exactText(number, counts));
    const samples = (sampling ?? report.ticks)?.effective_samples;
    const all = report.self_nanos;
    const rows = functions.slice(0, limit).map((row): string[] => {
        const { share, share_error: error } = row;
        const [own, total] = [figure({ ...row }, 'self'), figure({ ...row }, 'total')];
        const end = [row.calls.toLocaleString('en'), printable(row.name)];
        const percent = share === null ? '-' : (100 * share).toFixed(1);
        if (error === undefined || samples === undefined || share === null) return [percent, '-', exact(own), exact(total), ...end];
        // In a trace other programs, and what probes cost, add to the error of both.
        const more = sampling ? 0 : Math.max(0, error - wilson(share, samples));
        const rough = (nanos: number): string => roughText(nanos, all * (wilson(nanos / Math.max(1, all), samples) + more));
        return [percent, (100 * error).toFixed(1), rough(own!), rough(total!), ...end];
    });
    const isSampled = functions.some(({ share_error: error }) => error !== undefined) && samples !== undefined;
    const head = ['self %', '±', 'self', 'total', 'calls', 'function'];
    const shown = [head, ...rows].map((row) => (isSampled ? row : row.filter((_, n) => n !== 1)));
    const widths = shown[0]!.map((_, n) => Math.max(...shown.map((row) => row[n]!.length)));
    const line = (row: string[]): string => row.map((text, n) => (n === row.length - 1 ? text : text.padStart(widths[n]!))).join('  ');
    const more = functions.length > limit ? [`(${functions.length - limit} more: --limit ${functions.length})`] : [];
    const length = counts ? `count: ${exact(figure(report, 'self'))}` : `wall: ${exact(figure(report, 'wall'))}`;
    const first = `# ${length}, ${printable(outcome ?? 'not completed')}; ${plural(calls, 'call')} of ${plural(functions.length, 'function')}`;
    return [first, ...timesLine(report), ...shown.map(line), ...more, ...warnings.map((warning) => `# ${printable(warning)}`), ''].join('\n');
}

/** What times rest on, if they are not exact. */
function timesLine({ sampling, ticks }: Report): string[] {
    if (sampling) {
        const { samples, busy_nanos: busy, idle_nanos: idle, period_nanos: period } = sampling;
        const distance = exactText(samples > 0 ? (busy + idle) / samples : period, false);
        return [`# times: ${plural(samples, 'sample')}, one in ${distance}: counts of functions are exact; times, and counts by caller, are sampled`];
    }
    return ticks?.resolution_nanos ? [`# times: one tick in ${roughText(ticks.resolution_nanos, ticks.resolution_nanos / 10)}: times are sampled`] : [];
}
