/** Suspended stacks (JavaScript Promise Integration): each is a stack of its own in every lane, so that nothing else hangs below it. */

import { Reason } from '../constants.js';
import type { Lanes } from './lanes.js';
import type { Stacks } from './stacks.js';

type Call = (this: unknown, ...parameters: unknown[]) => unknown;

/** Wraps what goes to `WebAssembly.promising` and `WebAssembly.Suspending`. */
export class Suspension {
    readonly #lanes: Lanes;
    readonly #stacks: Stacks;
    /** The stacks that were started and have not been suspended yet, and what ran before. */
    readonly #callers = new Map<number, number>();

    constructor(lanes: Lanes, stacks: Stacks) {
        this.#lanes = lanes;
        this.#stacks = stacks;
    }

    /** `start` calls a guest's function that may be suspended, and gives a promise: what `WebAssembly.promising` gives. */
    start(start: () => unknown): unknown {
        const lanes = this.#lanes;
        const stack = this.#stacks.take();
        // Beyond what a lane can tell apart its calls stand where they are made.
        if (stack === undefined) return start();
        const caller = lanes.stack;
        this.#callers.set(stack, caller);
        lanes.switch(stack);
        try {
            const promise = start();
            const end = (): void => this.#end(stack);
            if (promise instanceof Promise) promise.then(end, end);
            return promise;
        } finally {
            this.#callers.delete(stack);
            lanes.switch(caller);
        }
    }

    /** `call` is an import that suspends the guest until the promise that it gives is settled, or else until the next microtask. */
    suspend(call: () => unknown): unknown {
        const lanes = this.#lanes;
        const stack = lanes.stack;
        const result = call();
        if (stack === 0) return result;
        // The guest is suspended when this returns: on with whoever called it, or with nobody.
        lanes.switch(this.#callers.get(stack) ?? 0);
        // The engine resumes it in a microtask, queued when ours has returned: nothing comes between one that is queued
        // here and that.
        const resume = (): void => queueMicrotask(() => lanes.switch(stack));
        if (!isThenable(result)) {
            resume();
            return result;
        }
        return Promise.resolve(result).then(
            (value: unknown) => {
                resume();
                return value;
            },
            (error: unknown) => {
                resume();
                throw error;
            },
        );
    }

    /** The function that was started on a stack has returned, or thrown. */
    #end(stack: number): void {
        const lanes = this.#lanes;
        lanes.switch(stack);
        lanes.close(Reason.Host);
        lanes.switch(0);
        this.#stacks.give(stack);
    }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
    return typeof value === 'object' && value !== null && 'then' in value;
}

/** Wraps `WebAssembly.promising` and `WebAssembly.Suspending`, where there are such. `suspension` answers for who records, if anybody does. */
export function hookSuspension(suspension: () => Suspension | undefined): void {
    const jspi = WebAssembly as unknown as Partial<Jspi>;
    const { promising, Suspending } = jspi;
    if (!promising || !Suspending) return;
    const start = (call: Call): Call => {
        const started = promising(call);
        return function (this: unknown, ...parameters: unknown[]) {
            const go = (): unknown => started.apply(this, parameters);
            const known = suspension();
            return known ? known.start(go) : go();
        };
    };
    Object.defineProperty(start, 'name', { value: 'promising' });
    jspi.promising = start;
    jspi.Suspending = new Proxy(Suspending, {
        construct(target, [call]: [Call], newTarget) {
            const wrapped = function (this: unknown, ...parameters: unknown[]): unknown {
                const go = (): unknown => call.apply(this, parameters);
                const known = suspension();
                return known ? known.suspend(go) : go();
            };
            return Reflect.construct(target, [typeof call === 'function' ? wrapped : call], newTarget) as object;
        },
    });
}

/** What the types of today's browsers don't have. */
export interface Jspi {
    promising: (call: Call) => Call;
    Suspending: new (call: Call) => object;
}
