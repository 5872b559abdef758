/** Files of `kperf-wasm plan`, which say what functions get no probes. */

import { readFileSync } from 'node:fs';

/** The names in a file; none without one. Throws if it is no plan. */
export function plannedIn(path: string | undefined): string[] {
    if (path === undefined) return [];
    const lines = readFileSync(path, 'utf8').split(/\r?\n/);
    return lines.flatMap((line, index) => {
        if (/^skip ./s.test(line)) return [line.slice('skip '.length)];
        if (line.startsWith('#') || line.trim() === '') return [];
        throw new TypeError(`line ${index + 1} of \`${path}\` is neither \`skip FUNCTION\` nor a comment (\`# ..\`)`);
    });
}
