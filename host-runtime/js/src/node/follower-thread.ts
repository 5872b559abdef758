/** The thread that sends a trace's file as spans while it grows. Waiting spans are in the file, not in memory. */

import { closeSync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { workerData } from 'node:worker_threads';
import * as zlib from 'node:zlib';
import { TraceCore, type SpansRequest } from '../common/trace/core.js';
import { OtlpExporter } from '../common/otlp/exporter.js';
import { halvesOf } from '../common/otlp/request.js';
import { SpanRate } from '../common/otlp/span-rate.js';
import { reasonOf } from '../common/warn.js';
import { coreModule } from './core.js';
import { bodyOf } from './response-body.js';
import { OWN_PATH, Follower, type Followed, type FollowerData } from './follower.js';
import { giveWay } from './thread.js';
import { ownPathOf } from './trace-file.js';

/** Milliseconds between reads at the end of the file. */
const LOOK = 50;
/** The default of `OtlpOptions.delay`. */
const DELAY = 1000;
const PIECE = 1 << 20;

const data = workerData as FollowerData;
const follower = new Follower(data.buffer);
giveWay();
follower.answer(await follow(data).catch((error: Error): Followed => ({ failure: error.message })));

async function follow({ path, options }: FollowerData): Promise<Followed> {
    while (!follower.begun) {
        if (follower.ended) return {};
        await sleep();
    }
    // Level 1 takes a third of the time of `CompressionStream`, and makes 5 % more bytes.
    const gzip = promisify<Uint8Array, zlib.ZlibOptions, Uint8Array<ArrayBuffer>>(zlib.gzip);
    const exporter = new OtlpExporter(options, { gzip: (bytes) => gzip(bytes, { level: 1 }), bodyOf, halvesOf });
    const rate = options.spansPerSecond === undefined ? undefined : new SpanRate(options.spansPerSecond);
    const core = await TraceCore.open(await coreModule(), { spans: options.spans ?? {} });
    const file = openSync(follower.begun === OWN_PATH ? ownPathOf(path) : path, 'r');
    const buffer = new Uint8Array(PIECE);
    let partial = performance.now();
    const give = (request: SpansRequest): void => {
        const limited = rate ? rate.limit(request) : request;
        if (limited) exporter.send(limited);
    };
    const send = async (): Promise<void> => {
        for (const request of core.requests()) {
            give(request);
            await exporter.room();
        }
    };
    let failure: string | undefined;
    try {
        for (;;) {
            // Read before the file, so that bytes that come in between are found next time.
            const { ended } = follower;
            const length = readSync(file, buffer);
            if (length > 0) {
                core.push(buffer.subarray(0, length));
                await send();
            } else if (ended) break;
            else await sleep();
            if (performance.now() - partial < (options.delay ?? DELAY)) continue;
            partial = performance.now();
            const request = core.partial();
            if (request) give(request);
        }
        core.end();
        await send();
    } catch (error) {
        failure = reasonOf(error);
    }
    closeSync(file);
    // Also after a failure: requests may be on their way.
    await exporter.settled();
    return { delivery: exporter.delivery, ...(failure !== undefined && { failure }), ...(rate && { left: rate.left }) };
}

function sleep(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, LOOK));
}
