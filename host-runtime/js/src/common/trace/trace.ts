/** The parts of a trace: what its header and its end say, and where its chunks go. host-runtime/trace/FORMAT.md is normative. */

/** Where a trace goes, a whole chunk at a time; the first call has the file's first eight bytes. */
export interface Sink {
    /** Takes bytes; they are the sink's from here on. Throws where that fails: the recording goes on and counts what is lost. */
    chunk(bytes: Uint8Array): void;
    /** Nothing comes after this. */
    close(): void | Promise<void>;
}

/** The clock that ticks are readings of. A tick is a nanosecond. */
export interface ClockInfo {
    kind: 'precise' | 'ticker' | 'instructions';
    source: 'performance.now' | 'instructions' | 'test';
    ticks_per_second: number;
    /** The smallest step it takes, in nanoseconds. */
    resolution_nanos: number;
    /** Ticker only: how often the time is renewed, in nanoseconds. */
    period_nanos?: number;
    /** Why events read the clock though there was to be a ticker. */
    no_ticker?: string;
}

/** What a trace says about itself before its first event. */
export interface Header {
    clock: ClockInfo;
    /** One moment, read on the trace's clock and on the calendar's, in decimal digits. */
    anchor: { ticks: string; unix_nanos: string };
    /** What a probed call costs more than a plain one, in nanoseconds. */
    probe_cost?: { inside_nanos: number; outside_nanos: number };
    host: { name: string; version: string; os: string; arch: string; pid: number };
    command: string[];
}

/** All stalls of one kind. */
export interface StallTotal {
    count: number;
    nanos: number;
    longest_nanos: number;
}

/** The ticks before which a guest ran: how many; how long it ran, in nanoseconds; and the squares of the parts without a better clock. */
export interface TickTotal {
    count: number;
    nanos: number;
    squares: number;
}

/** How often and for how many nanoseconds so many threads were ready to run while others had the processors. */
export interface Preempted {
    count: number;
    nanos: number;
    threads: number;
}

/** What became of the spans: `attempted == acknowledged + rejected + dropped` once all is done. */
export interface Delivery {
    /** Spans that were to be sent. */
    attempted: number;
    /** Spans that the Collector has. */
    acknowledged: number;
    /** Spans that the Collector refused in an answer that took the rest. */
    rejected: number;
    /** Spans that could not be delivered. */
    dropped: number;
    /** Requests that were answered or given up. */
    requests: number;
    /** How often a request was sent once more. */
    retries: number;
    /** The first thing that went wrong for good. */
    failure?: string;
}

/** What a trace says at its end. */
export interface Summary {
    /** How the guest ended: `completed`, `exit 3`, `trap: ...`. */
    outcome: string;
    end_ticks: number;
    /** Enters, leaves, unwinds and marks, those dropped included. */
    events: number;
    blocks: number;
    /** How many of the events are not in the trace. */
    dropped_events: number;
    recorders: number;
    /** How many functions had probes. */
    probes: number;
    ticker_stalls: StallTotal;
    /** With a ticker only. */
    ticks?: TickTotal;
    writer_stalls: StallTotal;
    /** For how many nanoseconds the process's threads ran on processors since the recording began; in node only. */
    cpu_nanos?: number;
    /** What other threads took from the thread that began the recording; in node on Linux only. */
    preempted?: Preempted;
    /** What became of the spans, where the recording sent some; not in the trace. */
    sent?: { delivery?: Delivery; failure?: string };
    /** The process that ran at the same time and has the trace's file: this trace is in `NAME-PID.kperf` beside it. Not in the trace; in node only. */
    other?: number;
}

/** A process's processor time. */
export type ProcessUsage = Partial<Pick<Summary, 'cpu_nanos' | 'preempted'>>;

/** The part of a summary that a writer does not count itself. */
export type SummaryInput = Omit<Summary, 'events' | 'blocks' | 'dropped_events' | 'probes' | 'sent' | 'other'>;

/** No stalls. */
export function noStalls(): StallTotal {
    return { count: 0, nanos: 0, longest_nanos: 0 };
}
