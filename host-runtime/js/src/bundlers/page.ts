/** The settings and the recorder that plugins for bundlers put before an app. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PageConfig } from '../browser/register.js';

/** Settings of the page's recorder: see `PageConfig`. By default modules get probes when they are loaded. */
export type PluginOptions = Omit<PageConfig, 'parent' | 'script' | 'idle' | 'server' | 'core' | 'rewriter' | 'worklet'>;

/** Files that the recorder loads, by the names of their settings. */
export const FILES = { script: 'kperf.js', rewriter: 'rewriter.wasm', worklet: 'worklet.js', core: 'core.wasm' };
/** Their folder in the bundler's output. */
export const FOLDER = 'kperf/';

/** The path of a file of the package. */
export const pathOf = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

export const contentOf = (file: string): Buffer => readFileSync(pathOf(file));

/** JavaScript that sets `kperfConfig`, without replacing an app's own settings. `addresses` are expressions of URLs, relative to the expression `base`. */
export function settings(options: PluginOptions, addresses: Record<keyof typeof FILES, string>, base: string): string {
    const entries = Object.entries(addresses).map(([name, address]) => `${name}: new URL(${address}, base).href`);
    return `{ const base = ${base}; globalThis.kperfConfig = { probe: 'auto', ...${JSON.stringify(options)}, ${entries.join(', ')}, ...globalThis.kperfConfig }; }\n`;
}

/** Expressions of the files' URLs in our folder, below the expression `folder`. */
export function addressesIn(folder: string): typeof FILES {
    return Object.fromEntries(Object.entries(FILES).map(([name, file]) => [name, `${folder} + ${JSON.stringify(FOLDER + file)}`])) as typeof FILES;
}

/** An expression of the page's or worker's URL. */
export const HERE = 'globalThis.document?.baseURI ?? location.href';
