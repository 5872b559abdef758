/** Rewritten modules that a thread has loaded lately: a program may compile the same bytes for each request. */

import type { Rewriting } from '../common/hook/rewriter.js';

/** So many modules, and bytes of them, are kept. */
const MAX_MODULES = 64, MAX_BYTES = 8 << 20;

export class RecentModules {
    /** By their keys, the one that was used last at the end. */
    readonly #kept = new Map<string, { rewriting: Rewriting }>();
    #bytes = 0;

    get(key: string): { rewriting: Rewriting } | undefined {
        const found = this.#kept.get(key);
        if (!found) return undefined;
        this.#kept.delete(key);
        this.#kept.set(key, found);
        return found;
    }

    put(key: string, rewriting: Rewriting): void {
        const size = sizeOf(rewriting);
        if (size > MAX_BYTES / 4) return;
        this.#drop(key);
        this.#kept.set(key, { rewriting });
        this.#bytes += size;
        for (const oldest of this.#kept.keys()) {
            if (this.#kept.size <= MAX_MODULES && this.#bytes <= MAX_BYTES) return;
            this.#drop(oldest);
        }
    }

    #drop(key: string): void {
        this.#bytes -= sizeOf(this.#kept.get(key)?.rewriting);
        this.#kept.delete(key);
    }
}

function sizeOf(rewriting: Rewriting): number {
    return rewriting?.length ?? 0;
}
