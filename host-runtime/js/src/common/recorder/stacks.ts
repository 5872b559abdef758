/** Numbers of stacks for spans and suspended guests. */

import { STACKS } from '../constants.js';

/** Allocates stacks from 1. */
export class Stacks {
    readonly #free: number[] = [];
    #next = 1;

    /** A free stack; `undefined` if there is none. */
    take(): number | undefined {
        return this.#free.pop() ?? (this.#next < STACKS ? this.#next++ : undefined);
    }

    /** Frees a stack without open frames. */
    give(stack: number): void {
        this.#free.push(stack);
    }
}
