/** A custom section with the warnings of a rewriting, so that a module that is kept has them, too. Programs don't see it. */

import { headersOf } from '../common/hook/module-headers.js';

const NAME = 'kperf.warnings';
/** Others are of custom sections, of which programs see the original's. */
const CONCERNS_RECORDING = /^no probe in |^no function's name matches |has no probe and no room|can't be read: /;
/** The number of warnings of a module that are shown. */
const MAX_WARNINGS = 3;

/** The module, with the warnings that concern its recording. */
export function withWarnings(wasm: Uint8Array<ArrayBuffer>, warnings: readonly string[]): Uint8Array<ArrayBuffer> {
    const shown = warnings.filter((warning) => CONCERNS_RECORDING.test(warning));
    if (shown.length === 0) return wasm;
    const more = shown.splice(MAX_WARNINGS).length;
    if (more > 0) shown.push(`${more} more warnings, which \`kperf-wasm rewrite\` shows`);
    const [name, content] = [Buffer.from(NAME), Buffer.from(shown.map((line) => line.replaceAll('\n', ' ')).join('\n'))];
    return new Uint8Array(Buffer.concat([wasm, [0], leb128(1 + name.length + content.length), [name.length], name, content].map((part) => Buffer.from(part))));
}

/** The warnings in a module. */
export function warningsOf(wasm: Uint8Array): string[] {
    const section = headersOf(wasm)?.custom.find(({ name }) => name === NAME);
    return section ? Buffer.from(wasm.subarray(section.start, section.end)).toString().split('\n') : [];
}

function leb128(value: number): number[] {
    return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...leb128(Math.floor(value / 0x80))];
}
