/** The ticker's thread. */

import { workerData } from 'node:worker_threads';
import { TickerLoop, type CellChange } from '../common/clock/ticker.js';
import { Inbox } from './channel.js';
import { threadOffset } from './thread.js';

export interface TickerData {
    kperf: 'ticker';
    memory: WebAssembly.Memory;
    /** The channel for memories to which the ticker writes the time. */
    cells: string;
    /** See `threadOffset`. */
    origin: number;
    periodNanos: number;
    resolutionNanos: number;
}

const data = workerData as TickerData;
const cells = new Inbox<CellChange>(data.cells);
const ticker = new TickerLoop({ ...data, offset: threadOffset(data.origin) });
while (ticker.run()) cells.receive((change) => ticker.change(change));
