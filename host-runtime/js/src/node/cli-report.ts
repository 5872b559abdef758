/** Prints the report of a trace. */

import { printable, printStatus } from './cli-args.js';
import { makeFile, makeText } from './reports.js';

/** Prints the first `limit` functions, all for 0; by default in a table those that make up 99 % of the time. */
export function printReport(path: string, json: boolean, limit: number | undefined, compensate: boolean): void {
    const { warnings } = makeFile([path], {}, { report: { json, compensate, ...(limit !== undefined && { limit }) } }, '-');
    for (const warning of warnings) printStatus(`warning: ${warning}`);
}

/** The first `top` rows of a page's report, or all for 0. */
export function pageText(path: string, top: number): string {
    const { text, answer } = makeText(path, { report: { page: true, limit: top } });
    return [text, ...answer.warnings.map((warning) => `# ${printable(warning)}\n`), `# trace: ${path}\n\n`].join('');
}
