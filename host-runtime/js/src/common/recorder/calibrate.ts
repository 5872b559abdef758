/** Measures the cost of a probe, which reports subtract. Does the same as host-runtime/wasmtime/src/recorder/calibrate.rs, with the same module. */

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

/** Calls per round: with a time before every event they fit one block. */
const CALLS = 7000;
/** A guest waits for the calibration this many milliseconds, half of them for each part, and for at least this many rounds. */
const PATIENCE = 4;
const MIN_ROUNDS = 4;
/** Milliseconds after which an engine has optimized the code. */
const WARM = 10;

interface Round {
    calls: number;
    /** Recorded ticks between enters and leaves, and between leaves and enters. */
    inside: number;
    outside: number;
    /** Milliseconds of all probed calls, and of as many plain ones. */
    probed: number;
    plain: number;
}

type Loop = (calls: number) => number;
interface Subject {
    lane: Lane;
    exports: { plain: Loop; probed: Loop };
}

/**
 * Measures probes with one time source. With a ticker, nearly all events find the time unchanged, so the cost is measured with a clock that
 * stands still, independently of the ticker; its ticks show which part of the cost falls to the caller.
 */
export class Calibration {
    readonly #time: TimeSource;
    readonly #clock: Clock;
    readonly #still: TimeSource | undefined;
    /** Rounds with a clock that stands still. */
    readonly #rounds: Record<'imported' | 'inlined', Round[]> = { imported: [], inlined: [] };

    constructor(time: TimeSource, clock: Clock) {
        this.#time = time;
        this.#clock = clock;
        if (time.kind !== 'ticker') return;
        const memory = clockMemory();
        setStill(memory, clock);
        const { now, halt, oneMemory } = time;
        this.#still = { kind: 'ticker', clock: memory, now, halt, add: () => () => {}, ...(oneMemory && { oneMemory }) };
    }

    /** Lets the engine optimize the measured code while the caller waits for something else. */
    warmUp(inlined: boolean, isDone: () => boolean): void {
        if (this.#still) return this.#measureStill(inlined, WARM, isDone);
        const halted = threadClock(0);
        halted.halt(true);
        this.#run({ kind: 'precise', now: halted.ticks, halt() {} }, inlined, WARM, isDone);
    }

    /** The cost; `undefined` if the clock is too coarse or the machine too busy. */
    cost(inlined: boolean): Header['probe_cost'] {
        if (this.#still) this.#measureStill(inlined, PATIENCE / 2);
        const rounds = this.#run(this.#time, inlined, this.#still ? PATIENCE / 2 : PATIENCE);
        return summarize(rounds, this.#still ? this.#rounds[inlined ? 'inlined' : 'imported'] : rounds);
    }

    #measureStill(inlined: boolean, milliseconds: number, isDone?: () => boolean): void {
        const rounds = this.#run(this.#still!, inlined, milliseconds, isDone);
        this.#rounds[inlined ? 'inlined' : 'imported'].push(...rounds);
    }

    #run(time: TimeSource, inlined: boolean, milliseconds: number, isDone: () => boolean = () => false): Round[] {
        const rounds: Round[] = [];
        let split = { calls: 0, inside: 0, outside: 0 };
        const { lane, exports } = (inlined ? inlinedSubject : importedSubject)(time, (block) => (split = splitBlock(block)));
        // An inlined recorder loads the time from the lane's memory.
        if (time === this.#still) setStill(lane.shared.memory, this.#clock);
        const { plain, probed } = exports;
        const { now } = this.#clock;
        // A ticker ticks only while guests run.
        const watch = time.kind === 'ticker' ? time.watch?.(time.clock) : undefined;
        watch?.begin();
        const begin = now();
        while (!isDone() && (now() - begin < milliseconds || rounds.length < MIN_ROUNDS)) {
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

function importedSubject(time: TimeSource, take: TakeBlock): Subject {
    let recorder!: ImportedRecorder;
    const lane = new Lane((flush) => (recorder = new ImportedRecorder(time, flush)), take);
    return { lane, exports: instanceOf(CALIBRATE, { [MODULE]: recorder.probes }) };
}

function inlinedSubject(time: TimeSource, take: TakeBlock): Subject {
    const expected = new Expected(time);
    const exports = instanceOf(CALIBRATE_INLINE, { [HOST_MODULE]: expected.imports });
    return { lane: new Lane(expected.recorder(exports), take), exports };
}

function instanceOf(wasm: Uint8Array<ArrayBuffer>, imports: WebAssembly.Imports): Subject['exports'] & WebAssembly.Exports {
    return new engine.Instance(moduleOf(wasm), imports).exports as Subject['exports'] & WebAssembly.Exports;
}

/** Sets a time that is never renewed. It is in the future: recorders ignore a clock that goes back. */
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

/** Takes the part that is inside calls from `timed`, and the whole cost from `measured`. */
function summarize(timed: Round[], measured: Round[]): Header['probe_cost'] {
    const whole = measured.filter(({ calls }) => calls === CALLS);
    const least = minOf(whole.map(({ probed }) => probed));
    if (least === 0) return undefined;
    const usual = minOf(timed.map(({ probed }) => probed));
    let [inside, both] = [0, 0];
    for (const round of timed) {
        // The thread was preempted in this round.
        if (round.calls !== CALLS || round.probed > 1.5 * usual) continue;
        inside += round.inside;
        both += round.inside + round.outside;
    }
    if (both === 0 && timed === measured) return undefined;
    const probed = (least * 1e6) / CALLS;
    const plain = (minOf(whole.map((round) => round.plain)) * 1e6) / CALLS;
    // Without a tick, both parts are taken to be equal.
    const inside_nanos = both === 0 ? Math.max(0, probed - plain) / 2 : (probed * inside) / both;
    const outside_nanos = Math.max(0, probed - inside_nanos - plain);
    // A machine that was busy during the plain calls shows no cost.
    return inside_nanos + outside_nanos > 0 ? { inside_nanos, outside_nanos } : undefined;
}

/** The minimum, or the mean if a coarse clock repeats it. */
function minOf(values: number[]): number {
    values.sort((a, b) => a - b);
    const least = values[0] ?? 0;
    if (values.length < MIN_ROUNDS || least !== values[values.length >> 2]) return least;
    return values.reduce((sum, value) => sum + value, 0) / values.length;
}
