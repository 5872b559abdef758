// The calls of a trace by their callers, counted while the trace is made. It reads what a page writes: one lane, columns
// that are stored as they are (FORMAT.md in host-runtime/trace).
import { readSymbols } from 'kperf-wasm';

export class CallTree {
    calls = 0;
    root = { name: 'all', time: 0, children: new Map() };
    #names = new Map();
    #open = [{ node: this.root, since: 0 }];

    /** Takes a chunk of the trace. */
    chunk(bytes) {
        const kind = String.fromCharCode(...bytes.subarray(4, 8));
        const payload = bytes.subarray(28);
        if (kind === 'SYMS') {
            const { idBase, names } = readSymbols(payload);
            names.forEach((name, n) => this.#names.set(idBase + n, name));
        }
        if (kind === 'EVTS') this.#events(payload);
    }

    #events(payload) {
        const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
        const isDense = payload[1] === 0;
        const lengths = [24, 32, 40].map((at) => view.getUint32(at, true));
        let at = 48;
        const [ids, , times] = lengths.map((length) => numbers(payload.subarray(at, (at += length))));
        let now = view.getUint32(12, true) + view.getUint32(16, true) * 2 ** 32;
        let other = 0;
        let until = isDense ? 0 : (times.next() ?? Infinity);
        for (let n = view.getUint32(20, true); n > 0; n--) {
            if (isDense) now += times.next();
            else if (until-- === 0) {
                now += times.next();
                until = (times.next() ?? Infinity) - 1;
            }
            const id = ids.next();
            if (id >= 2) this.#enter(id - 2, now);
            else if (id === 0) this.#leave(now, this.#open.length - 2);
            else {
                const word = view.getUint32(48 + lengths[0] + 4 * other++, true);
                if (word >>> 0 >= 0xc0000000 && word >>> 0 < 0xe0000000) this.#leave(now, word & 0x3ffffff);
            }
        }
    }

    #enter(id, now) {
        this.calls++;
        const { children } = this.#open.at(-1).node;
        let node = children.get(id);
        if (!node) children.set(id, (node = { name: this.#names.get(id) ?? `#${id}`, time: 0, children: new Map() }));
        this.#open.push({ node, since: now });
    }

    /** Closes the frames deeper than `depth`. */
    #leave(now, depth) {
        while (this.#open.length > Math.max(depth, 0) + 1) {
            const { node, since } = this.#open.pop();
            node.time += now - since;
            if (this.#open.length === 1) this.root.time += now - since;
        }
    }
}

/** LEB128 numbers, one after the other. */
function numbers(bytes) {
    let at = 0;
    return {
        next() {
            if (at >= bytes.length) return undefined;
            let value = 0;
            for (let scale = 1; ; scale *= 128) {
                const byte = bytes[at++];
                value += (byte & 127) * scale;
                if (byte < 128) return value;
            }
        },
    };
}
