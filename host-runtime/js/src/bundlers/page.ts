/** What plugins for bundlers put in front of an app: the settings of its recorder, and the recorder. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PageConfig } from '../browser/register.js';

/** The settings of the page's recorder: see `PageConfig`. By default modules get probes when they are loaded. */
export type PluginOptions = Omit<PageConfig, 'parent' | 'script' | 'idle' | 'server' | 'core' | 'rewriter' | 'worklet'>;

/** What the recorder loads when it needs it, as settings by the name of the file. */
export const FILES = { script: 'kperf.js', rewriter: 'rewriter.wasm', worklet: 'worklet.js', core: 'core.wasm' };
/** Where they are, beside what the bundler makes. */
export const FOLDER = 'kperf/';

/** Where a file of the package is. */
export const pathOf = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

export const contentOf = (file: string): Buffer => readFileSync(pathOf(file));

/**
 * Sets what the recorder reads when it begins. `addresses` are expressions that give the address of each file, relative to what the
 * expression `base` gives. An app may have set something itself.
 */
export function settings(options: PluginOptions, addresses: Record<keyof typeof FILES, string>, base: string): string {
    const entries = Object.entries(addresses).map(([name, address]) => `${name}: new URL(${address}, base).href`);
    return `{ const base = ${base}; globalThis.kperfConfig = { probe: 'auto', ...${JSON.stringify(options)}, ${entries.join(', ')}, ...globalThis.kperfConfig }; }\n`;
}

/** The addresses of files that keep their names in our folder. `folder` is an expression. */
export function addressesIn(folder: string): Record<keyof typeof FILES, string> {
    const address = (file: string): string => `${folder} + ${JSON.stringify(FOLDER + file)}`;
    return { script: address(FILES.script), rewriter: address(FILES.rewriter), worklet: address(FILES.worklet), core: address(FILES.core) };
}

/** The address of the page, or of the worker. */
export const HERE = 'globalThis.document?.baseURI ?? location.href';
