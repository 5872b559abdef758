/** A trace's header, summary and sink. host-runtime/trace/FORMAT.md is normative. */

/** Takes a trace, one whole chunk at a time; the first call has the file's first eight bytes. */
export interface Sink {
    /** Takes ownership of bytes. If it throws, the recording goes on and counts the loss. */
    chunk(bytes: Uint8Array): void;
    /** The last call. */
    close(): void | Promise<void>;
}

/** The trace's clock. A tick is a nanosecond. */
export interface ClockInfo {
    kind: 'precise' | 'ticker' | 'instructions';
    source: 'performance.now' | 'instructions' | 'test';
    ticks_per_second: number;
    /** The clock's smallest step, in nanoseconds. */
    resolution_nanos: number;
    /** Ticker only: nanoseconds between ticks. */
    period_nanos?: number;
    /** Why there is no ticker, although one was asked for. */
    no_ticker?: string;
}

export interface Header {
    clock: ClockInfo;
    /** The trace's clock and the calendar at one moment, in decimal digits. */
    anchor: { ticks: string; unix_nanos: string };
    /** Additional nanoseconds of a probed call, inside the function and in its caller. */
    probe_cost?: { inside_nanos: number; outside_nanos: number };
    host: { name: string; version: string; os: string; arch: string; pid: number };
    command: string[];
}

/** The sum of all stalls of one kind. */
export interface StallTotal {
    count: number;
    nanos: number;
    longest_nanos: number;
}

/** Ticks while guests ran: their number, the nanoseconds between them, and the squares of gaps without a better clock. */
export interface TickTotal {
    count: number;
    nanos: number;
    squares: number;
}

/** Preemptions of `threads` threads. */
export interface Preempted {
    count: number;
    nanos: number;
    threads: number;
}

/** The fate of spans: at the end, `attempted == acknowledged + rejected + dropped`. */
export interface Delivery {
    /** Spans that were to be sent. */
    attempted: number;
    /** Spans that the Collector took. */
    acknowledged: number;
    /** Spans that the Collector rejected in a partial success. */
    rejected: number;
    /** Spans that were not delivered. */
    dropped: number;
    /** Requests that were answered or dropped. */
    requests: number;
    /** The number of retries. */
    retries: number;
    /** The first permanent failure. */
    failure?: string;
}

/** The last chunk of a trace. */
export interface Summary {
    /** How the guest ended: `completed`, `exit 3`, `trap: ...`. */
    outcome: string;
    end_ticks: number;
    /** Enters, leaves, unwinds and marks, including dropped ones. */
    events: number;
    blocks: number;
    /** Events that are not in the trace. */
    dropped_events: number;
    recorders: number;
    /** The number of functions with probes. */
    probes: number;
    ticker_stalls: StallTotal;
    /** With a ticker only. */
    ticks?: TickTotal;
    writer_stalls: StallTotal;
    /** Sentences that reports show. */
    notes?: string[];
    /** The process's processor time since the recording began, in nanoseconds; in node only. */
    cpu_nanos?: number;
    /** Preemptions of the thread that began the recording; in node on Linux only. */
    preempted?: Preempted;
    /** The fate of spans, if the recording sent any; not in the trace. */
    sent?: { delivery?: Delivery; failure?: string; left?: number };
    /** The id of a process that writes to the same path: this trace is in `NAME-PID.kperf` instead. Not in the trace; in node only. */
    other?: number;
}

/** A process's processor time. */
export type ProcessUsage = Partial<Pick<Summary, 'cpu_nanos' | 'preempted'>>;

/** The part of a summary that a writer does not count itself. */
export type SummaryInput = Omit<Summary, 'events' | 'blocks' | 'dropped_events' | 'probes' | 'sent' | 'other'>;

export function noStalls(): StallTotal {
    return { count: 0, nanos: 0, longest_nanos: 0 };
}
