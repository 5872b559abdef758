/** What the subcommands of `npx kperf-wasm` share: how flags are read, and how texts are shown. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { ParseArgsConfig } from 'node:util';
import type { RewriteOptions } from '../common/hook/rewriter.js';

/** The flags of which functions get probes. */
export const PROBED = {
    only: { type: 'string', multiple: true, default: [] as string[] },
    skip: { type: 'string', multiple: true, default: [] as string[] },
    match: { type: 'string', default: 'auto' },
    'min-instructions': { type: 'string', default: '0' },
    exports: { type: 'boolean', default: false },
    imports: { type: 'boolean', default: false },
} as const satisfies ParseArgsConfig['options'];

/** What these flags have. */
export interface ProbedValues {
    only: string[];
    skip: string[];
    match: string;
    'min-instructions': string;
    exports: boolean;
    imports: boolean;
}

/** The same for the rewriter. */
export function probed({ only, skip, match, exports, imports, ...values }: ProbedValues): RewriteOptions {
    return {
        only,
        skip,
        match: oneOf('--match', match, 'auto', 'glob', 'regex', 'text'),
        min_instructions: number('--min-instructions', values['min-instructions']),
        exports,
        imports,
    };
}

/** What is wrong with what was typed. */
export class Usage extends Error {}

export function number(flag: string, text: string): number {
    if (!/^\d{1,9}$/.test(text)) throw new Usage(`${flag} ${text}: a number is wanted`);
    return Number(text);
}

export function oneOf<Word extends string>(flag: string, text: string, ...words: Word[]): Word {
    if (!words.includes(text as Word)) throw new Usage(`${flag} ${text}: use ${words.join(' or ')}`);
    return text as Word;
}

/** The one file that a subcommand is about. */
export function onlyFile(files: string[], what: 'module' | 'trace'): string {
    if (files.length !== 1) throw new Usage(`one ${what} is wanted, and there are ${files.length}`);
    const path = files[0]!;
    const about = statSync(path, { throwIfNoEntry: false });
    if (about?.isDirectory()) throw new Error(`\`${path}\` is a folder; name a ${what} in it`);
    if (about?.isFile()) {
        const begin = new Uint8Array(TRACE.length);
        const file = openSync(path, 'r');
        readSync(file, begin);
        closeSync(file);
        const isTrace = TRACE.equals(begin);
        if (what === 'module' && isTrace) throw new Error(`\`${path}\` is a trace, not a WebAssembly module; \`report\` reads it`);
    }
    return path;
}

/** How a trace begins. */
const TRACE = Buffer.from('KPERF\0');

/** A text of a trace in a line on a terminal: what would move the cursor or turn the text is spelled out. */
export function printable(text: string): string {
    return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`);
}

/** Prints a line on stderr. */
export function say(line: string): void {
    process.stderr.write(`${printable(line)}\n`);
}
