// The memory of a browser's processes.
import { readdirSync, readFileSync } from 'node:fs';

/** What the largest of the processes whose commands match have for themselves, in MB. */
export function memoryOf(command) {
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((process) => {
        try {
            if (!command.test(readFileSync(`/proc/${process}/cmdline`, 'latin1'))) return 0;
            return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${process}/status`, 'latin1'))?.[1] ?? 0) / 1024;
        } catch {
            // It has ended.
            return 0;
        }
    });
    return Math.max(...all);
}
