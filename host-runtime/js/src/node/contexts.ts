/**
 * Notices that a program goes on in another async context, within one turn of the event loop: continuations of promises, ticks, microtasks,
 * and what `AsyncLocalStorage` and `AsyncResource` run. Between callbacks of timers and of the system, node empties the microtasks anyway.
 */

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { promiseHooks } from 'node:v8';
import type { ContextChange } from '../common/recorder/recorder.js';

/** Called before and after each change. */
const changes = new Set<(change: ContextChange) => void>();
let isFollowing = false;

/** Calls `change` before code of another context may run. Returns a function that ends this. */
export function followContexts(change: (change: ContextChange) => void): () => void {
    changes.add(change);
    prepareContexts();
    return () => void changes.delete(change);
}

/** Must be called before the program waits for promises: V8 calls no hook for those that it waits for already. */
export function prepareContexts(): void {
    if (isFollowing) return;
    isFollowing = true;
    promiseHooks.onBefore(() => changed('outermost'));
    follow();
}

function changed(how: ContextChange): void {
    for (const change of changes) change(how);
}

type Method = (this: unknown, ...given: unknown[]) => unknown;

/** Wraps a method so that the context changes before and after its call. */
function wrap(of: object, name: string): void {
    const property = Object.getOwnPropertyDescriptor(of, name);
    const original = property?.value as Method | undefined;
    if (!original) return;
    const value = {
        [name](this: unknown, ...given: unknown[]): unknown {
            changed('nested');
            try {
                return original.apply(this, given);
            } finally {
                changed('nested');
            }
        },
    }[name]!;
    Object.defineProperty(value, 'length', { value: original.length });
    Object.defineProperty(of, name, { ...property, value });
}

function follow(): void {
    for (const name of ['run', 'exit', 'enterWith']) wrap(AsyncLocalStorage.prototype, name);
    wrap(AsyncResource.prototype, 'runInAsyncScope');
    const { nextTick } = process;
    const tick = (callback: Method, ...given: unknown[]): void => {
        changed('outermost');
        callback(...given);
    };
    process.nextTick = function (callback: Method, ...given: unknown[]): void {
        // Node reports anything else.
        if (typeof callback === 'function') nextTick(tick as never, callback, ...given);
        else nextTick(callback, ...given);
    };
    Object.defineProperty(process.nextTick, 'name', { value: 'nextTick' });
}
