/** All lanes of a thread. */

import { STACKS, type Reason } from '../constants.js';

/** A lane of events, or a profiled instance. */
export interface AnyLane {
    /** The number of open frames of the running stack. */
    readonly depth: number;
    /** The running stack. */
    readonly stack: number;
    switch(stack: number): void;
    close(reason: Reason, depth: number): void;
    flush(): void;
    /** Switches recording off or on. */
    setRecording(on: boolean): void;
    /** Closes the open frames of all stacks and hands over the rest; has ended when the promise, if any, is fulfilled. Later events are dropped. */
    end(reason: Reason): void | Promise<void>;
    /** The running stack has waited for so many ticks, until now: that is no function's self time. */
    wait(ticks: number): void;
    /** Ends the lane of an instance that is gone. */
    retire(reason: Reason): void | Promise<void>;
}

/** All run the same stack. */
export class Lanes {
    readonly #all: AnyLane[] = [];

    add(lane: AnyLane): void {
        const { stack } = this;
        this.#all.push(lane);
        if (stack !== 0) lane.switch(stack);
    }

    remove(lane: AnyLane): void {
        const at = this.#all.indexOf(lane);
        if (at >= 0) this.#all.splice(at, 1);
    }

    get stack(): number {
        return this.#all[0]?.stack ?? 0;
    }

    /** Makes later events those of another stack. Ignores stacks that a lane can't distinguish. */
    switch(stack: number): void {
        if (stack < STACKS) for (const lane of this.#all) lane.switch(stack);
    }

    wait(ticks: number): void {
        for (const lane of this.#all) lane.wait(ticks);
    }

    close(reason: Reason): void {
        for (const lane of this.#all) lane.close(reason, 0);
    }

    /** Closes the frames that the running stack has opened since `depths()`. */
    closeTo(reason: Reason, depths: ReadonlyMap<AnyLane, number>): void {
        for (const lane of this.#all) lane.close(reason, depths.get(lane) ?? 0);
    }

    /** The number of open frames of the running stack, by lane. */
    depths(): Map<AnyLane, number> {
        return new Map(this.#all.map((lane) => [lane, lane.depth]));
    }

    flush(): void {
        for (const lane of this.#all) lane.flush();
    }

    setRecording(on: boolean): void {
        for (const lane of this.#all) lane.setRecording(on);
    }

    end(reason: Reason): void | Promise<void> {
        const waits = this.#all.map((lane) => lane.end(reason)).filter((wait) => wait !== undefined);
        if (waits.length > 0) return Promise.all(waits).then(() => undefined);
    }
}
