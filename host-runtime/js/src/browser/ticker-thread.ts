/** Runs the ticker in a worker. */

import { TickerLoop, type CellChange, type TickerOptions } from '../common/clock/ticker.js';

/** The first message to the worker. */
export interface TickerData extends Omit<TickerOptions, 'offset'> {
    /** The `performance.timeOrigin` from which the trace counts. */
    timeOrigin: number;
}

let ticker: TickerLoop | undefined;

/**
 * The first message starts the ticker, all others change its lanes. `run` blocks the event loop, so it isn't called before all announced
 * changes have arrived.
 */
export function tickerMessage({ data }: MessageEvent<TickerData | CellChange>): void {
    if ('id' in data) ticker?.change(data);
    else ticker = new TickerLoop({ ...data, offset: performance.timeOrigin - data.timeOrigin });
    while (ticker && !ticker.isBehind) if (!ticker.run()) return close();
}
