/** Measures what a probe costs here, so that reports can take it off: as host-runtime/wasmtime/src/calibrate.rs does, with the same module. */

import { wordsOf } from './columns.js';
import { Beside } from './beside.js';
import { HOST_MODULE, LEAVE, MODULE, Reason, TIME } from './constants.js';
import { Expected } from './inside.js';
import { moduleOf } from './instantiate.js';
import { Lane, type TakeBlock, type TimeSource } from './lane.js';
import { CALIBRATE, CALIBRATE_INLINE } from './wasm.js';
import type { Header } from './trace.js';

/** Calls between two looks at the clock: with a time before every event they fit one block. */
const CALLS = 7000;
const ROUNDS = 40;
/** The first rounds, in which code is still cold, don't count. */
const COLD = 8;

interface Round {
    calls: number;
    /** Between enters and leaves, and between leaves and enters, as recorded, in ticks. */
    inside: number;
    outside: number;
    /** All of it, and as many plain calls, by the clock, in milliseconds. */
    probed: number;
    plain: number;
}

/** Measures. `undefined` where the clock is too coarse to say. `rounds` bounds the time it takes: some 0.2 ms each with a ticker. */
export function probeCost(time: TimeSource, now: () => number, inlined: boolean): Header['probe_cost'] {
    const rounds: Round[] = [];
    let split = { calls: 0, inside: 0, outside: 0 };
    const { lane, exports } = (inlined ? inside : beside)(time, (block) => (split = splitBlock(block)));
    const { plain, probed } = exports;
    const begin = now();
    // A clock that costs 240 ns a reading has 3 ms a round: enough is enough.
    for (let whole = 0; whole < ROUNDS && (now() - begin < 30 || rounds.length < 2 * COLD); ) {
        const start = now();
        plain(CALLS);
        const middle = now();
        probed(CALLS);
        const end = now();
        lane.flush();
        rounds.push({ ...split, plain: middle - start, probed: end - middle });
        // One in which a ticker stood still says nothing.
        if (split.inside + split.outside > 0) whole++;
    }
    lane.end(Reason.Unfinished);
    return summarize(rounds.slice(COLD));
}

type Loop = (calls: number) => number;
interface Subject {
    lane: Lane;
    exports: { plain: Loop; probed: Loop };
}

function beside(time: TimeSource, take: TakeBlock): Subject {
    let recorder!: Beside;
    const lane = new Lane((flush) => (recorder = new Beside(time, flush)), take);
    return { lane, exports: instanceOf(CALIBRATE, { [MODULE]: recorder.probes }) };
}

function inside(time: TimeSource, take: TakeBlock): Subject {
    const expected = new Expected(time);
    const exports = instanceOf(CALIBRATE_INLINE, { [HOST_MODULE]: expected.imports });
    return { lane: new Lane(expected.seat(exports), take), exports };
}

function instanceOf(wasm: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports): Subject['exports'] & WebAssembly.Exports {
    return new WebAssembly.Instance(moduleOf(wasm), imports).exports as Subject['exports'] & WebAssembly.Exports;
}

function splitBlock(block: Uint8Array): Omit<Round, 'plain' | 'probed'> {
    const round = { calls: 0, inside: 0, outside: 0 };
    let passed = 0;
    for (const word of wordsOf(block)) {
        if (word >>> 30 === 1) {
            passed += word - TIME;
        } else if (word >>> 30 === 0) {
            if (round.calls++ > 0) round.outside += passed;
            passed = 0;
        } else if (word === LEAVE) {
            round.inside += passed;
            passed = 0;
        }
    }
    return round;
}

function summarize(rounds: Round[]): Header['probe_cost'] {
    const usual = median(rounds.map((round) => round.probed));
    let [inside, both] = [0, 0];
    for (const round of rounds) {
        // One in which the thread was put aside says nothing of probes.
        if (round.calls !== CALLS || round.probed > usual * 1.5) continue;
        inside += round.inside;
        both += round.inside + round.outside;
    }
    if (both === 0 || usual === 0) return undefined;
    const probed = (usual * 1e6) / CALLS;
    const plain = (median(rounds.map((round) => round.plain)) * 1e6) / CALLS;
    const inside_nanos = (probed * inside) / both;
    return { inside_nanos, outside_nanos: Math.max(0, probed - inside_nanos - plain) };
}

function median(values: number[]): number {
    values.sort((a, b) => a - b);
    return values[values.length >> 1] ?? 0;
}
