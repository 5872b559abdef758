/** The worker that renews the time. scripts/build.mjs makes one text of it, `ticker-source.ts`. */

import { runTicker, type TickerOptions } from '../common/ticker.js';

/** What the worker is sent. */
export interface TickerData extends Omit<TickerOptions, 'offset'> {
    /** The `performance.timeOrigin` from which the trace counts. */
    timeOrigin: number;
}

addEventListener('message', ({ data }: MessageEvent<TickerData>) => {
    runTicker({ ...data, offset: performance.timeOrigin - data.timeOrigin }, () => []);
    close();
});
