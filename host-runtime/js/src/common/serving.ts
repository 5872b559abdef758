/** The protocol between pages and the servers that take their traces. */

/** Headers of a post with a part of a trace; see `PostSink`. */
export const PART = { trace: 'kperf-trace', number: 'kperf-part', last: 'kperf-last', unsent: 'kperf-unsent' } as const;

/** The header of a request for probes, and of its answer: others, such as a service worker's, don't have it. */
export const PROBE = 'kperf-probe';

/**
 * Headers that make a page cross-origin isolated, which gives it shared memory and a fine clock. `credentialless`, unlike
 * `require-corp`, lets it load files of other sites as before.
 */
export const ISOLATION = {
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'credentialless',
} as const;
