/** The stacks of a lane that spans and suspended guests take. */

import { STACKS } from '../constants.js';

/** Hands out stacks, apart from 0. */
export class Stacks {
    readonly #free: number[] = [];
    #next = 1;

    /** A stack that nobody has; `undefined` where there is none left. */
    take(): number | undefined {
        return this.#free.pop() ?? (this.#next < STACKS ? this.#next++ : undefined);
    }

    /** Gives back a stack whose frames are closed. */
    give(stack: number): void {
        this.#free.push(stack);
    }
}
