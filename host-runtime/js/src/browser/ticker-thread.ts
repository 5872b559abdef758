/** The worker that renews the time. scripts/build.mjs makes one text of it, `ticker-source.ts`. */

import { TickerLoop, type CellChange, type TickerOptions } from '../common/clock/ticker.js';

/** What the worker is sent. */
export interface TickerData extends Omit<TickerOptions, 'offset'> {
    /** The `performance.timeOrigin` from which the trace counts. */
    timeOrigin: number;
}

let ticker: TickerLoop | undefined;

// The first message starts the ticker, all others change its lanes. `run` blocks the event loop, so it isn't called while
// announced changes are still on their way.
addEventListener('message', ({ data }: MessageEvent<TickerData | CellChange>) => {
    if ('id' in data) ticker?.change(data);
    else ticker = new TickerLoop({ ...data, offset: performance.timeOrigin - data.timeOrigin });
    while (ticker && !ticker.isBehind) if (!ticker.run()) return close();
});
