/** Makes columns with the core, in at most a third of the time of common/trace/columns.ts, and packs them. */

import type { CoreExports } from '../common/trace/core.js';
import { RustModule } from '../common/rust-module.js';
import { engine } from '../common/engine.js';
import { LENGTHS, PACKED, PREFIX, type Encoded, type Encoder } from '../common/trace/columns.js';
import type { Pack } from '../common/trace/trace-writer.js';

/** Shorter columns are not packed: node takes 15 us to begin a frame. */
const WORTH_PACKING = 512;

export class CoreColumns implements Encoder {
    readonly #core: RustModule<CoreExports>;
    readonly #zstd: Pack | undefined;

    /** Without `zstd` columns are not packed. */
    constructor(core: WebAssembly.Module, zstd: Pack | undefined) {
        this.#core = new RustModule(new engine.Instance(core));
        this.#zstd = zstd;
    }

    encode(block: Uint8Array): Encoded {
        const core = this.#core;
        const events = core.call(core.exports.kperf_encode, block);
        const payload = core.output();
        return { payload: this.#zstd ? packed(payload, this.#zstd) : payload, events };
    }
}

/** Packs a payload's columns if that makes them shorter. */
function packed(payload: Uint8Array, zstd: Pack): Uint8Array {
    const envelope = payload.slice(0, PREFIX);
    const view = new DataView(envelope.buffer);
    const parts: Uint8Array[] = [envelope];
    let at = PREFIX;
    for (let n = 0; n < 3; n++) {
        const length = view.getUint32(LENGTHS + 8 * n, true);
        const column = payload.subarray(at, (at += length));
        const frame = length < WORTH_PACKING ? column : zstd(column);
        const stored = frame.length < length ? frame : column;
        if (stored !== column) envelope[PACKED]! |= 1 << n;
        parts.push(stored);
        view.setUint32(LENGTHS + 4 + 8 * n, stored.length, true);
    }
    return Buffer.concat(parts);
}
