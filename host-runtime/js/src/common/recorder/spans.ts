/** Spans of JavaScript, recorded as host functions. */

import type { Lane } from './lane.js';
import type { Output } from './output.js';
import type { Stacks } from './stacks.js';
import { writeSymbols } from '../trace/symbols.js';

export class HostSpans {
    /** The lane of the next span. */
    readonly #lane: () => Lane;
    readonly #output: Output;
    readonly #stacks: Stacks;
    readonly #ids = new Map<string, number>();

    constructor(lane: () => Lane, output: Output, stacks: Stacks) {
        this.#lane = lane;
        this.#output = output;
        this.#stacks = stacks;
    }

    /** Calls a function as a span. If it returns a promise, a span `NAME (await)` on its own stack lasts until that is settled. */
    run<R>(name: string, call: () => R): R {
        const lane = this.#lane();
        const id = this.#id(name);
        const token = lane.enter(id);
        let result;
        try {
            result = call();
        } finally {
            lane.leave(token);
        }
        if (result instanceof Promise) this.#wait(lane, this.#id(`${name} (await)`), result);
        return result;
    }

    mark(value: number): void {
        this.#lane().mark(value);
    }

    #wait(lane: Lane, id: number, promise: Promise<unknown>): void {
        const stack = this.#stacks.take();
        if (stack === undefined) return;
        const on = (act: () => void): void => {
            const before = lane.stack;
            lane.switch(stack);
            act();
            lane.switch(before);
        };
        let token = 0;
        on(() => (token = lane.enter(id)));
        const end = (): void => {
            on(() => lane.leave(token));
            this.#stacks.give(stack);
        };
        promise.then(end, end);
    }

    #id(name: string): number {
        let id = this.#ids.get(name);
        if (id === undefined) {
            id = this.#output.ids(1);
            this.#ids.set(name, id);
            this.#output.symbols(writeSymbols('javascript', id, [name]));
        }
        return id;
    }
}
