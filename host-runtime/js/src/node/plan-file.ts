/** Files of `kperf-wasm plan`, which say what functions get no probes. */

import { readFileSync } from 'node:fs';
import type { RewriteOptions } from '../common/hook/rewriter.js';

/** The names in a file, if there is one. Throws if it is no plan. */
export function plannedIn(path: string | undefined): Pick<RewriteOptions, 'planned'> {
    if (path === undefined) return {};
    const lines = readFileSync(path, 'utf8').split(/\r?\n/);
    const planned = lines.flatMap((line, index) => {
        if (/^skip ./s.test(line)) return [line.slice('skip '.length)];
        if (line.startsWith('#') || line.trim() === '') return [];
        throw new TypeError(`line ${index + 1} of \`${path}\` is neither \`skip FUNCTION\` nor a comment (\`# ..\`)`);
    });
    return { planned };
}
