/** The ticker's thread. */

import { BroadcastChannel, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { TickerLoop, type CellChange } from '../common/clock/ticker.js';
import { threadOffset } from './offset.js';

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
const channel = new BroadcastChannel(data.cells);
channel.unref();
const ticker = new TickerLoop({ ...data, offset: threadOffset(data.origin) });
while (ticker.run()) {
    // The function takes broadcast channels too, which the types don't say.
    for (let message; (message = receiveMessageOnPort(channel as unknown as MessagePort)); ) ticker.change(message.message as CellChange);
}
