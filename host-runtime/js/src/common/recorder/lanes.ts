/** All lanes of a thread, as one. */

import { STACKS, type Reason } from '../constants.js';

/** What records: a lane of events, or an instance that makes a profile. */
export interface Lane {
    /** How many frames of the running stack are open. */
    readonly depth: number;
    /** The stack that runs. */
    readonly stack: number;
    switch(stack: number): void;
    close(reason: Reason, depth: number): void;
    flush(): void;
    /** Switches it off or on again. */
    setRecording(on: boolean): void;
    /** Closes what is open on any stack, and hands over the rest; it may take until the answer is fulfilled. Nothing that comes after is kept. */
    end(reason: Reason): void | Promise<void>;
    /** Ends a lane whose instance is gone. */
    retire(reason: Reason): void | Promise<void>;
}

/** The lanes of a thread. The same stack runs in all of them. */
export class Lanes {
    readonly #all: Lane[] = [];

    /** Adds a lane. */
    add(lane: Lane): void {
        const { stack } = this;
        this.#all.push(lane);
        if (stack !== 0) lane.switch(stack);
    }

    /** Removes a lane whose recorder is gone. */
    remove(lane: Lane): void {
        const at = this.#all.indexOf(lane);
        if (at >= 0) this.#all.splice(at, 1);
    }

    /** The stack that runs. */
    get stack(): number {
        return this.#all[0]?.stack ?? 0;
    }

    /** From here on the events belong to another stack, of those that a lane can tell apart. */
    switch(stack: number): void {
        if (stack < STACKS) for (const lane of this.#all) lane.switch(stack);
    }

    /** Closes what is open of the running stack. */
    close(reason: Reason): void {
        for (const lane of this.#all) lane.close(reason, 0);
    }

    /** Closes what the running stack has opened since `depths` were its depths. */
    closeTo(reason: Reason, depths: ReadonlyMap<Lane, number>): void {
        for (const lane of this.#all) lane.close(reason, depths.get(lane) ?? 0);
    }

    /** How many frames of the running stack each has open. */
    depths(): Map<Lane, number> {
        return new Map(this.#all.map((lane) => [lane, lane.depth]));
    }

    /** Hands over what is recorded so far. */
    flush(): void {
        for (const lane of this.#all) lane.flush();
    }

    /** Switches them off or on again. */
    setRecording(on: boolean): void {
        for (const lane of this.#all) lane.setRecording(on);
    }

    /** Ends all of them. */
    end(reason: Reason): void | Promise<void> {
        const waits = this.#all.map((lane) => lane.end(reason)).filter((wait) => wait !== undefined);
        if (waits.length > 0) return Promise.all(waits).then(() => undefined);
    }
}
