/** Reports workers of the site that the recorder doesn't reach. */

import type { IncomingHttpHeaders } from 'node:http';
import { printStatus } from '../cli-args.js';

/** What a browser asks for, by its `Sec-Fetch-Dest`. */
const KINDS = new Map([['serviceworker', 'a service worker'], ['sharedworker', 'a shared worker']]);
/** The number of paths that are reported. */
const MAX_PATHS = 100;

export class UnrecordedWorkers {
    readonly #paths = new Set<string>();

    /** Reports a worker's script once. */
    note(path: string, { 'sec-fetch-dest': destination, 'service-worker': script }: IncomingHttpHeaders): void {
        // Every browser has the second header, but only requests of trustworthy origins have the first.
        const kind = KINDS.get(script === 'script' ? 'serviceworker' : String(destination));
        if (kind === undefined || this.#paths.has(path) || this.#paths.size >= MAX_PATHS) return;
        this.#paths.add(path);
        printStatus(`${path}: ${kind}, which runs unrecorded`);
    }
}
