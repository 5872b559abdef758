/** Starts the ticker's worker. */

import { ticksOf, type Clock } from '../common/clock/clock.js';
import { askForCells, clockMemory, type CellChange, type Ticker, type TickerPace } from '../common/clock/ticker.js';
import { TickerWatch } from '../common/clock/ticker-watch.js';
import { hasMultiMemory, type TimeSource } from '../common/recorder/lane.js';
import { ISOLATED, isIsolated } from './isolation.js';
import type { TickerData } from './ticker-thread.js';
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
    /** Adds or removes a lane, of this thread or of a worker. */
    change: (change: CellChange) => void;
    /** Why the worker failed to start; `undefined` if it didn't. */
    failed: () => string | undefined;
}

/** Starts a ticker. Until its worker runs, recorders read the clock. */
export function startTicker(clock: Clock, pace: TickerPace, memory = clockMemory()): Started {
    let failed: string | undefined;
    let worker: Worker | undefined;
    try {
        worker = startOwn('ticker');
        worker.addEventListener('error', () => (failed = refusalOf()));
        const data: TickerData = { memory, timeOrigin: performance.timeOrigin, ...pace };
        worker.postMessage(data);
    } catch (error) {
        // Some browsers throw if a Content-Security-Policy forbids the worker.
        failed = refusalOf(error);
    }
    const change = (change: CellChange): void => {
        worker?.postMessage(change);
        askForCells(memory);
    };
    return useTicker(clock, { memory, ...pace }, change, () => failed);
}

/** A ticker that was started here, or by the page of this worker. */
export function useTicker(clock: Clock, ticker: Ticker, change: Started['change'], failed: Started['failed']): Started {
    const add = (memory: WebAssembly.Memory): (() => void) => {
        // Other threads add lanes, too.
        const id = String(Math.random());
        change({ id, memory });
        return () => change({ id });
    };
    const watch = (cell: WebAssembly.Memory): TickerWatch => new TickerWatch(ticker, cell, () => ticksOf(clock));
    return { ...ticker, time: { kind: 'ticker', clock: ticker.memory, now: clock.ticks, halt: clock.halt, add, watch }, change, failed };
}
