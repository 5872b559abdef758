/** Starts the ticker's worker. */

import { askForCells, clockMemory, type CellChange } from '../common/ticker.js';
import { hasMultiMemory, type TimeSource } from '../common/lane.js';
import { ISOLATED, isIsolated } from './isolation.js';
import type { TickerData } from './ticker-thread.js';
import { TICKER_SOURCE } from './ticker-source.js';
import { TICKER_NAME } from './workers.js';

/** Whether a ticker can work here: memory can be shared with a worker, there is a processor for it, and recorders can load from it. */
export function tickerWorks(): boolean {
    return isIsolated() && navigator.hardwareConcurrency > 1 && hasMultiMemory;
}

/** Why it can't, for people. */
export function whyNoTicker(): string {
    if (!isIsolated()) return `the page is not ${ISOLATED}`;
    return hasMultiMemory ? 'there is no second processor' : 'this browser gives a module only one memory';
}

/** Starts a ticker. Its memory has the time from the beginning; until the worker runs, it stands still. */
export function startTicker(now: number, periodNanos: number, resolutionNanos: number): TimeSource & { kind: 'ticker'; failed: () => boolean } {
    const clock = clockMemory();
    setClock(clock, now);
    const url = URL.createObjectURL(new Blob([TICKER_SOURCE], { type: 'text/javascript' }));
    const worker = new Worker(url, { name: TICKER_NAME });
    let failed = false;
    worker.addEventListener('error', () => (failed = true));
    const data: TickerData = { memory: clock, timeOrigin: performance.timeOrigin, periodNanos, resolutionNanos };
    worker.postMessage(data);
    let cells = 0;
    const tell = (change: CellChange): void => {
        worker.postMessage(change);
        askForCells(clock);
    };
    const add = (memory: WebAssembly.Memory): (() => void) => {
        const id = String(cells++);
        tell({ id, memory });
        return () => tell({ id });
    };
    return { kind: 'ticker', clock, add, failed: () => failed };
}

/** Puts the time into a memory whose ticker doesn't run yet. */
export function setClock(memory: WebAssembly.Memory, now: number): void {
    new BigInt64Array(memory.buffer, 0, 1)[0] = BigInt(now);
}
