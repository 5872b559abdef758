/** Starts the ticker's worker. */

import { ticksOf, type Clock } from '../common/clock/clock.js';
import { askForCells, clockMemory, type CellChange, type Ticker, type TickerPace } from '../common/clock/ticker.js';
import { TickerWatch } from '../common/clock/ticker-watch.js';
import { hasMultiMemory, type TimeSource } from '../common/recorder/lane.js';
import { ISOLATED, isIsolated } from './isolation.js';
import type { TickerData } from './ticker-thread.js';
import { TICKER_SOURCE } from './ticker-source.js';
import { refusalOf, startOwn } from './workers.js';

/** Whether a ticker works here: the page shares memory with workers, and a module may have two memories. */
export function tickerWorks(): boolean {
    return isIsolated() && hasMultiMemory;
}

/** The reason why a ticker doesn't work here. */
export function whyNoTicker(): string {
    if (!isIsolated()) return `the page is not ${ISOLATED}`;
    return 'this browser gives a module only one memory';
}

/** A ticker whose worker may not run yet, or may have failed to start. */
export interface Started extends Ticker {
    time: TimeSource;
    /** Why the worker failed to start; `undefined` if it didn't. */
    failed: () => string | undefined;
}

/** Starts a ticker. Until its worker runs, recorders read the clock. */
export function startTicker(clock: Clock, pace: TickerPace): Started {
    const memory = clockMemory();
    let failed: string | undefined;
    let worker: Worker | undefined;
    try {
        worker = startOwn('ticker', TICKER_SOURCE);
        worker.addEventListener('error', () => (failed = refusalOf()));
        const data: TickerData = { memory, timeOrigin: performance.timeOrigin, ...pace };
        worker.postMessage(data);
    } catch (error) {
        // Some browsers throw if a Content-Security-Policy forbids the worker.
        failed = refusalOf(error);
    }
    let cells = 0;
    const send = (change: CellChange): void => {
        worker?.postMessage(change);
        askForCells(memory);
    };
    const add = (cell: WebAssembly.Memory): (() => void) => {
        const id = String(cells++);
        send({ id, memory: cell });
        return () => send({ id });
    };
    const ticker = { memory, ...pace };
    const watch = (cell: WebAssembly.Memory): TickerWatch => new TickerWatch(ticker, cell, () => ticksOf(clock));
    return { ...ticker, time: { kind: 'ticker', clock: memory, now: clock.ticks, halt: clock.halt, add, watch }, failed: () => failed };
}
