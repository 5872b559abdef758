/**
 * `import 'kperf-wasm/register'` or `<script src="kperf.js">` before anything else in a page: records every probed module
 * that the page instantiates. What is recorded is `globalThis.kperf`.
 *
 * Workers that the page starts get the script too, and make traces of their own, if these are posted or sent as spans.
 *
 * Settings are in `globalThis.kperfConfig`, or attributes of the script's tag: `data-clock="precise"`, `data-post="URL"`,
 * `data-otlp="ENDPOINT"` with `data-service="NAME"`, `data-core="URL"`.
 */

import { Reason } from '../common/constants.js';
import { hook } from '../common/hook.js';
import { isProfile } from '../common/profile.js';
import type { SamplingOptions } from '../common/sampler.js';
import { hookSuspension } from '../common/suspension.js';
import type { AskParent } from '../common/parent.js';
import type { OtlpOptions } from '../common/otlp-settings.js';
import { OtlpSink } from '../common/otlp-sink.js';
import type { Sink } from '../common/trace.js';
import { coreModule } from './core.js';
import { createRecorder, PostSink, type PageRecorder } from './index.js';
import { reachWorkers } from './workers.js';

/** The settings of a page. */
export interface PageConfig {
    /** See `RecorderOptions`. */
    clock?: string;
    /** See `RecorderOptions`; if left out, the first module decides. */
    record?: 'trace' | 'profile';
    /** See `RecorderOptions`; as attributes `data-period`, `data-span-min` and `data-every`. */
    sampling?: SamplingOptions;
    /** Where to post the trace while it is recorded. Without it the page keeps it: `kperf.download()`, `kperf.blob()`. */
    post?: string;
    /** Sends spans to a Collector while it is recorded; as an attribute the endpoint: `data-otlp="http://localhost:4318"`. */
    otlp?: OtlpOptions;
    /** Where `core.wasm` is, which makes the spans, if not beside `kperf.js`. */
    core?: string;
    /** Whose children the guest's calls are; the active span of `@opentelemetry/api` if left out. */
    parent?: AskParent;
    /** False: nothing is recorded. */
    enabled?: boolean;
    /** False: workers are left alone. */
    workers?: boolean;
    /** Where this script is, for workers of workers; set for workers that are reached. */
    script?: string;
}

declare global {
    /** Settings, read when `kperf-wasm/register` is loaded. */
    var kperfConfig: PageConfig | undefined;
    /** The page's recording; it begins with the first probed module, or when this is asked for. */
    var kperf: PageRecorder;
}

/** Milliseconds after which what a page has recorded is handed over, though its block isn't full. */
const FLUSH = 1000;
/** The same for workers, and how long it then waits to be posted: nothing tells them that they are terminated. */
const WORKER_FLUSH = 100;
const WORKER_DELAY = 20;

const config: PageConfig = { ...dataset(), ...globalThis.kperfConfig };
/** Requests of a page are small and frequent: what isn't sent when it is closed has to fit into 64 KiB. */
const REQUEST_BYTES = 48_000;
const DELAY = 1000;
const isWorker = 'WorkerGlobalScope' in globalThis;
let recorder: PageRecorder | undefined;

// Not a second time, where it comes by two ways.
if (config.enabled !== false && !Object.hasOwn(globalThis, 'kperf')) {
    Object.defineProperty(globalThis, 'kperf', { configurable: true, get: () => begin() });
    hook(begin, (module) => begin(module).prepare(module));
    hookSuspension(() => recorder?.suspension);
    const script = (globalThis.document?.currentScript as HTMLScriptElement | null)?.src || config.script;
    // Their memory ends with them: only a trace that is sent comes out of a worker.
    const isSent = config.post !== undefined || config.otlp !== undefined;
    if (script && isSent && config.workers !== false && typeof Worker === 'function') reachWorkers(script, settingsOfWorkers(script));
    if (isWorker) beforeClose();
    globalThis.addEventListener?.('pagehide', (event) => {
        if (event.persisted) recorder?.flush();
        else leave();
    });
    // A page that is hidden may never be shown again, nor told of its end.
    globalThis.document?.addEventListener('visibilitychange', () => {
        if (document.visibilityState === 'hidden') recorder?.flush();
    });
}

/** These settings with addresses that mean the same in a worker. */
function settingsOfWorkers(script: string): PageConfig {
    const base = globalThis.document?.baseURI;
    const post = config.post === undefined ? {} : { post: new URL(config.post, base).href };
    const core = config.core === undefined ? new URL('core.wasm', script) : new URL(config.core, base);
    return { ...config, ...post, core: core.href };
}

function begin(module?: WebAssembly.Module): PageRecorder {
    if (recorder) return recorder;
    // The first module decides: a profile needs no ticker.
    const record = config.record ?? (module && isProfile(module) ? 'profile' : 'trace');
    recorder = createRecorder({
        record,
        ...(config.sampling !== undefined && { sampling: config.sampling }),
        ...(config.clock !== undefined && { clock: config.clock }),
        ...(config.parent !== undefined && { parent: config.parent }),
        ...sink(),
    });
    const recording = recorder;
    if (config.post !== undefined) setInterval(() => recording.finished || recording.flush(), isWorker ? WORKER_FLUSH : FLUSH);
    return recorder;
}

function sink(): { sink?: Sink } {
    if (config.otlp !== undefined) {
        const spans = { request_bytes: REQUEST_BYTES, ...config.otlp.spans };
        return { sink: new OtlpSink(coreModule(config.core), { delay: DELAY, ...config.otlp, spans }) };
    }
    return config.post !== undefined ? { sink: new PostSink(config.post, isWorker ? WORKER_DELAY : undefined) } : {};
}

/** The page is being closed. */
function leave(): void {
    if (!recorder) return;
    if (recorder.sink instanceof PostSink || recorder.sink instanceof OtlpSink) recorder.sink.leave();
    recorder.leave();
    void recorder.finish('page closed').catch(() => undefined);
}

/** How long a worker that ends itself may go on, for its last request. Milliseconds. */
const CLOSING = 5000;

/** A worker that ends itself is heard: it ends when its last request is answered, since browsers drop what it leaves behind. */
function beforeClose(): void {
    const scope = globalThis as unknown as { close: () => void };
    const { close } = scope;
    scope.close = () => {
        if (!recorder) return close.call(globalThis);
        void recorder.end(Reason.Interrupted);
        const finished = recorder.finish('worker closed').catch(() => undefined);
        void Promise.race([finished, new Promise((resolve) => setTimeout(resolve, CLOSING))]).then(() => close.call(globalThis));
    };
}

function dataset(): PageConfig {
    const { clock, record, period, spanMin, every, post, otlp, service, core, enabled, workers } = (globalThis.document?.currentScript as HTMLScriptElement | null)?.dataset ?? {};
    return {
        ...(clock !== undefined && { clock }),
        ...(record !== undefined && { record: record as 'trace' | 'profile' }),
        ...((period ?? spanMin ?? every) !== undefined && {
            sampling: { ...(period !== undefined && { period }), ...(spanMin !== undefined && { spanMin }), ...(every !== undefined && { every }) },
        }),
        ...(post !== undefined && { post }),
        ...(otlp !== undefined && { otlp: { endpoint: otlp, spans: service === undefined ? {} : { service_name: service } } }),
        ...(core !== undefined && { core }),
        ...(enabled !== undefined && { enabled: enabled !== 'false' }),
        ...(workers !== undefined && { workers: workers !== 'false' }),
    };
}
