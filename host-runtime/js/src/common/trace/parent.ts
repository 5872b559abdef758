/** Parent spans of the guest's calls, as in W3C Trace Context. */

/** A span: its `traceparent`, with `tracestate` if there is one. */
export type Parent = string | { traceparent: string; tracestate?: string };

/** Called when guests begin to run. Returns `undefined` if there is no span around them. */
export type AskParent = () => Parent | undefined;

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
const ALL_STACKS = 0xff_ff_ff_ff;
const IDS = 24;
/** The longest `tracestate`, and the longest payload of a `PRNT`, in bytes. */
const MAX_STATE = 512;
export const LONGEST_PARENT = 5 + IDS + MAX_STATE;

/** The payload of a `PRNT` chunk. Without a parent, it ends the last one's effect. `undefined` for an invalid context. */
export function parentPayload(parent: Parent | undefined): Uint8Array<ArrayBuffer> | undefined {
    const { traceparent, tracestate = '' } = typeof parent === 'object' ? parent : { traceparent: parent };
    const state = tracestate.length <= MAX_STATE && /^[ -~]*$/.test(tracestate) ? tracestate : '';
    const payload = new Uint8Array(5 + IDS + (traceparent === undefined ? 0 : state.length));
    new DataView(payload.buffer).setUint32(0, ALL_STACKS, true);
    if (traceparent === undefined) return payload;
    const [, trace, span, flags] = TRACEPARENT.exec(traceparent.trim()) ?? [];
    if (!trace || !span || !flags || /^0+$/.test(trace) || /^0+$/.test(span)) return undefined;
    payload[4] = parseInt(flags, 16);
    const ids = trace + span;
    for (let n = 0; n < IDS; n++) payload[5 + n] = parseInt(ids.slice(2 * n, 2 * n + 2), 16);
    for (let n = 0; n < state.length; n++) payload[5 + IDS + n] = state.charCodeAt(n);
    return payload;
}

/** Where `@opentelemetry/api` keeps its globals, and a context its span. */
const API = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

interface ContextManager {
    active(): { getValue(key: symbol): unknown };
    with(...given: unknown[]): unknown;
}
interface Registered {
    context?: ContextManager;
}

interface SpanContext {
    traceId: string;
    spanId: string;
    traceFlags: number;
    traceState?: { serialize(): string };
}

/** The context manager of `@opentelemetry/api`, if the program has set one. That module isn't loaded: its registry is global. */
function contextManager(): ContextManager | undefined {
    return (globalThis as unknown as Record<symbol, Registered | undefined>)[API]?.context;
}

/** Whether the program may have active spans. */
export function hasContextManager(): boolean {
    return contextManager() !== undefined;
}

/** Calls `change` before and after calls of the context manager's `with`. Returns false if there is none. */
export function followManager(change: () => void): boolean {
    const manager = contextManager();
    if (!manager) return false;
    const original = manager.with;
    manager.with = function (...given) {
        change();
        try {
            return original.apply(this, given);
        } finally {
            change();
        }
    };
    return true;
}

/** The active span of `@opentelemetry/api`, if the program uses it. */
export function activeSpan(): Parent | undefined {
    const span = contextManager()?.active().getValue(SPAN) as { spanContext(): SpanContext } | undefined;
    if (!span) return undefined;
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    const tracestate = traceState?.serialize();
    return tracestate ? { traceparent, tracestate } : traceparent;
}

export function equalParents(a: Parent | undefined, b: Parent | undefined): boolean {
    if (typeof a !== 'object' || typeof b !== 'object') return a === b;
    return a.traceparent === b.traceparent && a.tracestate === b.tracestate;
}
