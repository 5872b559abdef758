/** Suspended stacks (JavaScript Promise Integration). Each is a stack of its own in every lane, so other calls don't become its children. */

import { Reason } from '../constants.js';
import type { Lanes } from './lanes.js';
import type { Stacks } from './stacks.js';

type Call = (this: unknown, ...parameters: unknown[]) => unknown;

export class Suspension {
    readonly #lanes: Lanes;
    readonly #stacks: Stacks;
    /** The caller's stack of each stack that was started and not suspended yet. */
    readonly #callers = new Map<number, number>();

    /** Reads the clock in milliseconds; `undefined` if the clock isn't the machine's. */
    readonly #now: (() => number) | undefined;

    constructor(lanes: Lanes, stacks: Stacks, now?: () => number) {
        this.#lanes = lanes;
        this.#stacks = stacks;
        this.#now = now;
    }

    /** Calls `start`, a function made by `WebAssembly.promising`, on a new stack. */
    start(start: () => unknown): unknown {
        const lanes = this.#lanes;
        const stack = this.#stacks.take();
        // All stacks are taken: its calls are recorded on the caller's stack.
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

    /** Calls an import that suspends the guest until its promise is settled, or otherwise until the next microtask. */
    suspend(call: () => unknown): unknown {
        const lanes = this.#lanes;
        const stack = lanes.stack;
        const result = call();
        if (stack === 0) return result;
        const now = this.#now;
        const suspended = now?.();
        // The guest is suspended when this returns, so its caller's stack runs, or the outermost.
        lanes.switch(this.#callers.get(stack) ?? 0);
        // The engine resumes the guest in a microtask that it queues after this returns, so ours runs directly before.
        const resume = (): void => queueMicrotask(() => {
            lanes.switch(stack);
            if (now) lanes.wait(Math.round(1e6 * (now() - suspended!)));
        });
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

    /** The function that was started on the stack has returned or thrown. */
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

/** Wraps `WebAssembly.promising` and `WebAssembly.Suspending`, if the engine has them. `suspension` returns `undefined` while nothing is recorded. */
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

/** Part of `WebAssembly` that TypeScript's types lack. */
export interface Jspi {
    promising: (call: Call) => Call;
    Suspending: new (call: Call) => object;
}
