/** The worker that renews the time. scripts/build.mjs makes one text of it, `ticker-source.ts`. */

import { TickerLoop, type CellChange, type TickerOptions } from '../common/ticker.js';

/** What the worker is sent. */
export interface TickerData extends Omit<TickerOptions, 'offset'> {
    /** The `performance.timeOrigin` from which the trace counts. */
    timeOrigin: number;
}

let ticker: TickerLoop | undefined;

// The first message starts it, all others tell of lanes: those are waited for that were announced.
addEventListener('message', ({ data }: MessageEvent<TickerData | CellChange>) => {
    if ('id' in data) ticker?.change(data);
    else ticker = new TickerLoop({ ...data, offset: performance.timeOrigin - data.timeOrigin });
    while (ticker && !ticker.isBehind) if (!ticker.run()) return close();
});
