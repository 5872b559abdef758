/** Flags and messages of `npx kperf-wasm`. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { parseArgs, ParseArgsConfig } from 'node:util';
import type { RewriteOptions } from '../common/hook/rewriter.js';
import { reasonOf } from '../common/warn.js';
import { plannedIn } from './plan-file.js';

type Flags = NonNullable<ParseArgsConfig['options']>;
/** The values of some flags. */
export type Values<Options extends Flags> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

/** The flags that select functions by their names. */
export const PATTERNS = {
    only: { type: 'string', multiple: true, default: [] as string[] },
    skip: { type: 'string', multiple: true, default: [] as string[] },
    match: { type: 'string', default: 'auto' },
} as const satisfies Flags;

/** The flags that select functions for probes. */
export const PROBED = {
    ...PATTERNS,
    plan: { type: 'string' },
    'min-instructions': { type: 'string', default: '0' },
    exports: { type: 'boolean', default: false },
    imports: { type: 'boolean', default: false },
} as const satisfies Flags;

/** These flags as the rewriter's options. */
export function probed({ only, skip, match, plan, exports, imports, ...values }: Values<typeof PROBED>): RewriteOptions {
    return {
        only,
        skip,
        ...usage('--plan: ', () => plannedIn(plan)),
        match: oneOf('--match', match, 'auto', 'glob', 'regex', 'text'),
        min_instructions: number('--min-instructions', values['min-instructions']),
        exports,
        imports,
    };
}

/** An error of the command line. */
export class Usage extends Error {}

/** Makes an error of `parse` one of the command line. */
export function usage<Parsed>(flag: string, parse: () => Parsed): Parsed {
    try {
        return parse();
    } catch (error) {
        throw new Usage(`${flag}${reasonOf(error)}`);
    }
}

export function number(flag: string, text: string): number {
    if (!/^\d{1,9}$/.test(text)) throw new Usage(`${flag} ${text}: use a number`);
    return Number(text);
}

export function oneOf<Word extends string>(flag: string, text: string, ...words: Word[]): Word {
    if (!words.includes(text as Word)) throw new Usage(`${flag} ${text}: use ${words.join(' or ')}`);
    return text as Word;
}

/** The one file of a subcommand. */
export function onlyFile(files: string[], what: 'module' | 'trace'): string {
    if (files.length !== 1) throw new Usage(`name one ${what}, not ${files.length}`);
    const path = files[0]!;
    const about = statSync(path, { throwIfNoEntry: false });
    if (about?.isDirectory()) throw new Error(`\`${path}\` is a folder; name a ${what}`);
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

/** The first bytes of a trace. */
const TRACE = Buffer.from('KPERF\0');

/** Escapes control characters, so that a trace's texts don't change the terminal. */
export function printable(text: string): string {
    return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`);
}

/** Prints a line on stderr. */
export function printStatus(line: string): void {
    process.stderr.write(`${printable(line)}\n`);
}
