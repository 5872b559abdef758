/** Measures what a probe costs here, so that reports can take it off: as host-runtime/wasmtime/src/calibrate.rs does, with the same module. */

import { wordsOf } from '../trace/columns.js';
import { ImportedRecorder } from './imported-recorder.js';
import { threadClock, ticksOf, type Clock } from '../clock/clock.js';
import { HOST_MODULE, LEAVE, MODULE, Reason, TIME } from '../constants.js';
import { engine } from '../engine.js';
import { ClockCell } from '../clock/clock-cell.js';
import { Expected } from './inlined-recorder.js';
import { moduleOf } from '../instantiate.js';
import { Lane, type TakeBlock, type TimeSource } from './lane.js';
import { clockMemory } from '../clock/ticker.js';
import { CALIBRATE, CALIBRATE_INLINE } from '../wasm-source.js';
import type { Header } from '../trace/trace.js';

/** Calls between two looks at the clock: with a time before every event they fit one block. */
const CALLS = 7000;
/** For so many milliseconds a guest waits for the measuring, half of them for each of its parts; and for so many rounds at least. */
const PATIENCE = 4;
const FEWEST = 4;
/** An engine has compiled it all for speed after some milliseconds. */
const WARM = 10;

interface Round {
    calls: number;
    /** Between enters and leaves, and between leaves and enters, as recorded, in ticks. */
    inside: number;
    outside: number;
    /** All of it, and as many plain calls, by the clock, in milliseconds. */
    probed: number;
    plain: number;
}

type Loop = (calls: number) => number;
interface Subject {
    lane: Lane;
    exports: { plain: Loop; probed: Loop };
}

/**
 * What probes cost with a time source. With a ticker nearly all events find the time as it was: what such a probe costs is measured beside a
 * clock that stands still, so it doesn't matter how the ticker fares; which part of it falls to the caller is found out with its ticks.
 */
export class Calibration {
    readonly #time: TimeSource;
    readonly #clock: Clock;
    readonly #still: TimeSource | undefined;
    /** Rounds without a reading of the clock, of a recorder beside and of one inside. */
    readonly #rounds: Record<'beside' | 'inside', Round[]> = { beside: [], inside: [] };

    constructor(time: TimeSource, clock: Clock) {
        this.#time = time;
        this.#clock = clock;
        if (time.kind !== 'ticker') return;
        const memory = clockMemory();
        setStill(memory, clock);
        const { now, halt, oneMemory } = time;
        this.#still = { kind: 'ticker', clock: memory, now, halt, add: () => () => {}, ...(oneMemory && { oneMemory }) };
    }

    /** Lets the engine compile what is measured, while something is waited for anyway. */
    warmUp(inlined: boolean, isThere: () => boolean): void {
        if (this.#still) return this.#measureStill(inlined, WARM, isThere);
        const halted = threadClock(0);
        halted.halt(true);
        this.#run({ kind: 'precise', now: halted.ticks, halt() {} }, inlined, WARM, isThere);
    }

    /** Measures. `undefined` where the clock is too coarse to say, or the machine too busy. */
    cost(inlined: boolean): Header['probe_cost'] {
        if (this.#still) this.#measureStill(inlined, PATIENCE / 2);
        const rounds = this.#run(this.#time, inlined, this.#still ? PATIENCE / 2 : PATIENCE);
        return summarize(rounds, this.#still ? this.#rounds[inlined ? 'inside' : 'beside'] : rounds);
    }

    #measureStill(inlined: boolean, milliseconds: number, isThere?: () => boolean): void {
        const rounds = this.#run(this.#still!, inlined, milliseconds, isThere);
        this.#rounds[inlined ? 'inside' : 'beside'].push(...rounds);
    }

    #run(time: TimeSource, inlined: boolean, milliseconds: number, isThere: () => boolean = () => false): Round[] {
        const rounds: Round[] = [];
        let split = { calls: 0, inside: 0, outside: 0 };
        const { lane, exports } = (inlined ? inside : beside)(time, (block) => (split = splitBlock(block)));
        // Where the lane's own memory has the time.
        if (time === this.#still) setStill(lane.shared.memory, this.#clock);
        const { plain, probed } = exports;
        const { now } = this.#clock;
        // A ticker ticks for guests that run.
        const watch = time.kind === 'ticker' ? time.watch?.(time.clock) : undefined;
        watch?.begin();
        const begin = now();
        while (!isThere() && (now() - begin < milliseconds || rounds.length < FEWEST)) {
            const start = now();
            plain(CALLS);
            const middle = now();
            probed(CALLS);
            const end = now();
            lane.flush();
            rounds.push({ ...split, plain: middle - start, probed: end - middle });
        }
        watch?.end();
        lane.end(Reason.Unfinished);
        return rounds;
    }
}

function beside(time: TimeSource, take: TakeBlock): Subject {
    let recorder!: ImportedRecorder;
    const lane = new Lane((flush) => (recorder = new ImportedRecorder(time, flush)), take);
    return { lane, exports: instanceOf(CALIBRATE, { [MODULE]: recorder.probes }) };
}

function inside(time: TimeSource, take: TakeBlock): Subject {
    const expected = new Expected(time);
    const exports = instanceOf(CALIBRATE_INLINE, { [HOST_MODULE]: expected.imports });
    return { lane: new Lane(expected.seat(exports), take), exports };
}

function instanceOf(wasm: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports): Subject['exports'] & WebAssembly.Exports {
    return new engine.Instance(moduleOf(wasm), imports).exports as Subject['exports'] & WebAssembly.Exports;
}

/** Puts a time into a memory that nobody renews: one to come, as a clock that goes back isn't believed. */
function setStill(memory: WebAssembly.Memory, clock: Clock): void {
    new ClockCell(memory).clock = BigInt(ticksOf(clock) + 1e9);
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

/** `timed` are rounds that say which part of the time is inside of calls, `measured` those that say how long it is. */
function summarize(timed: Round[], measured: Round[]): Header['probe_cost'] {
    const whole = measured.filter(({ calls }) => calls === CALLS);
    const least = leastOf(whole.map(({ probed }) => probed));
    if (least === 0) return undefined;
    const usual = leastOf(timed.map(({ probed }) => probed));
    let [inside, both] = [0, 0];
    for (const round of timed) {
        // One in which the thread was put aside says nothing of probes.
        if (round.calls !== CALLS || round.probed > 1.5 * usual) continue;
        inside += round.inside;
        both += round.inside + round.outside;
    }
    if (both === 0 && timed === measured) return undefined;
    const probed = (least * 1e6) / CALLS;
    const plain = (leastOf(whole.map((round) => round.plain)) * 1e6) / CALLS;
    // Nothing ticked: both parts are about the same.
    const inside_nanos = both === 0 ? Math.max(0, probed - plain) / 2 : (probed * inside) / both;
    const outside_nanos = Math.max(0, probed - inside_nanos - plain);
    // A machine that was busy whenever there were no probes says that they cost nothing.
    return inside_nanos + outside_nanos > 0 ? { inside_nanos, outside_nanos } : undefined;
}

/** The least, or the mean where a coarse clock says the same again and again. */
function leastOf(values: number[]): number {
    values.sort((a, b) => a - b);
    const least = values[0] ?? 0;
    if (values.length < FEWEST || least !== values[values.length >> 2]) return least;
    return values.reduce((sum, value) => sum + value, 0) / values.length;
}
