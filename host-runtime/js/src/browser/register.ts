/**
 * Records every probed module of a page: `import 'kperf-wasm/register'` or `<script src="kperf.js">` before anything else. The recording is
 * `globalThis.kperf`.
 *
 * The page's workers are recorded, too, if traces are posted or sent as spans. Each has its own trace.
 *
 * Settings are in `globalThis.kperfConfig`, or attributes of the script's tag: `data-clock="precise"`, `data-post="URL"`,
 * `data-otlp="ENDPOINT"` with `data-service="NAME"`, `data-core="URL"`, `data-probe="auto"`.
 */

import { Reason } from '../common/constants.js';
import '../common/hook/global.js';
import { hook, type Hooks } from '../common/hook/hook.js';
import { ModuleIds } from '../common/hook/module-ids.js';
import { isProfile } from '../common/profile/profile.js';
import type { SamplingOptions } from '../common/profile/sampling.js';
import { hookSuspension } from '../common/recorder/suspension.js';
import type { AskParent } from '../common/trace/parent.js';
import type { OtlpOptions } from '../common/otlp/settings.js';
import { OtlpSink } from '../common/otlp/sink.js';
import type { Sink } from '../common/trace/trace.js';
import { coreModule } from './core.js';
import { reachFrames } from './frames.js';
import { isIsolated } from './isolation.js';
import { PageLink, PageWorkers } from './joining.js';
import { loadingOf } from './loading.js';
import { createRecorder, PostSink, type PageRecorder } from './index.js';
import { hold } from './post-sink.js';
import { warn } from './warn.js';
import { enterWorker, hasWorkers, reachWorkers, reachWorklets } from './workers.js';

/** The settings of a page. */
export interface PageConfig {
    /** See `RecorderOptions`. */
    clock?: string;
    /** See `RecorderOptions`; if left out, the first module decides. */
    record?: 'trace' | 'profile';
    /** See `RecorderOptions`; as attributes `data-period`, `data-span-min` and `data-every`. */
    sampling?: SamplingOptions;
    /** The URL to post the trace to. Without it the page keeps the trace: `kperf.download()`, `kperf.blob()`. */
    post?: string;
    /** Sends spans to a Collector while the page records. The attribute has the endpoint: `data-otlp="http://localhost:4318"`. */
    otlp?: OtlpOptions;
    /** The URL of `core.wasm`, which makes the spans. Default: beside `kperf.js`. */
    core?: string;
    /** Gives the parent span of the guest's calls. Default: the active span of `@opentelemetry/api`. */
    parent?: AskParent;
    /**
     * Adds probes to modules when they are loaded: `auto` inlines the recorder if possible. Without it only modules that were rewritten
     * before are recorded.
     */
    probe?: 'auto' | 'import' | 'inline';
    /** The functions that get probes, by the flags of `kperf-wasm rewrite`; as attributes `data-only`, `data-skip`, `data-match`, one pattern each. */
    only?: string[];
    skip?: string[];
    match?: 'auto' | 'glob' | 'regex' | 'text';
    /** Whether calls of imported functions also get probes; as an attribute `data-imports="true"`. */
    imports?: boolean;
    /** The URL of `rewriter.wasm`. Default: beside `kperf.js`. */
    rewriter?: string;
    /** The URL at which `npx kperf-wasm serve` rewrites modules. It sets this itself. */
    server?: string;
    /** False: nothing is recorded. */
    enabled?: boolean;
    /** False: workers stay unchanged. */
    workers?: boolean;
    /** True in workers that are not recorded, in which probed modules of the page must run. */
    idle?: boolean;
    /** Whether a worker records into its page's trace. Set in workers. */
    joins?: boolean | undefined;
    /** The name of the channel on which a closing page notifies its workers. Set in workers. */
    closing?: string;
    /** The URL of `kperf.js`, if this code isn't part of that script. Set in workers. */
    script?: string;
    /** The URL of `worklet.js`. Default: beside `kperf.js`. */
    worklet?: string;
}

declare global {
    /** Settings, read when `kperf-wasm/register` is loaded. */
    var kperfConfig: PageConfig | undefined;
    /** In a page it is the page's. */
    interface KperfGlobal extends PageRecorder {}
}

/** How often blocks are handed over before they are full, in milliseconds: a page or a worker may end without an event. */
const FLUSH = 100;

enterWorker();
const ownTag = globalThis.document?.currentScript as HTMLScriptElement | null | undefined;
const config: PageConfig = { ...dataset(), ...globalThis.kperfConfig };
/** Requests with spans are small and frequent, because the rest must fit into 64 KiB when the page is closed. */
const REQUEST_BYTES = 48_000;
const DELAY = 1000;
const isWorker = 'WorkerGlobalScope' in globalThis;
const closing = config.closing ?? `kperf ${Math.random()}`;
/** Whether traces are sent. Without that a worker's trace would end with it. */
const isSent = config.post !== undefined || config.otlp !== undefined;
/** A worker's link to its page, or a page's workers, which record into its trace. */
const link = config.joins ? new PageLink() : undefined;
const workers = !isWorker && isSent && isIsolated() ? new PageWorkers((record) => begin(undefined, record)) : undefined;
const joining = link ?? workers;
let recorder: PageRecorder | undefined;

// The script may be loaded twice.
if (config.enabled !== false && !Object.hasOwn(globalThis, 'kperf')) {
    const hooks: Hooks = config.idle
        ? { recorder: () => undefined, warn: () => undefined }
        : { recorder: begin, ready: async (module) => begin(module).prepare(module), loading: config.probe && loadingOf(config, () => joining?.ids ?? new ModuleIds()), warn };
    hook(hooks);
    if (!config.idle) {
        Object.defineProperty(globalThis, 'kperf', { configurable: true, get: () => begin() });
        hookSuspension(() => recorder?.suspension);
    }
    const script = config.script ?? ownTag?.src;
    // Workers may not be able to load a script of another origin.
    const isForWorkers = script && (isSent || new URL(script, location.href).origin === location.origin);
    if (isForWorkers && config.workers !== false && typeof Worker === 'function') reachWorkers(script, settingsOfWorkers(script), (worker) => joining?.joins && joining.join(worker));
    // A trace that isn't sent would end with the frame.
    if (typeof HTMLIFrameElement === 'function') reachFrames(isSent && config.script === undefined ? ownTag?.outerHTML : undefined, (realm) => hook(hooks, realm));
    if (script && typeof Worklet === 'function') reachWorklets(config.worklet ?? new URL('worklet.js', script));
    if (isWorker && !config.idle) beforeClose();
    if (isWorker && isSent && config.closing !== undefined) new BroadcastChannel(config.closing).onmessage = leave;
    globalThis.addEventListener?.('pagehide', (event) => {
        if (event.persisted) return recorder?.flush();
        if (!hasWorkers()) return leave();
        const begun = performance.now();
        new BroadcastChannel(closing).postMessage('');
        leave();
        hold(begun + HOLD - performance.now());
    });
    // A hidden page may be closed without another event.
    globalThis.document?.addEventListener('visibilitychange', () => {
        if (document.visibilityState === 'hidden') recorder?.flush();
    });
}

/** How long a closing page stays for its workers, in milliseconds. */
const HOLD = 300;

/** The settings of a worker, with absolute URLs. */
function settingsOfWorkers(script: string): PageConfig {
    const base = globalThis.document?.baseURI;
    const [post, server] = [config.post, config.server].map((url) => url && new URL(url, base).href);
    const core = config.core === undefined ? new URL('core.wasm', script) : new URL(config.core, base);
    const rewriter = config.rewriter === undefined ? new URL('rewriter.wasm', script) : new URL(config.rewriter, base);
    return { ...config, ...(post && { post }), ...(server && { server }), core: core.href, rewriter: rewriter.href, closing, idle: !isSent, get joins() { return joining?.joins; } };
}

function begin(module?: WebAssembly.Module, first?: 'trace' | 'profile'): PageRecorder {
    if (recorder) return recorder;
    // The first module decides whether there is a ticker: a profile needs none.
    const record = config.record ?? first ?? (module && isProfile(module) ? 'profile' : 'trace');
    // A worker that begins before its page's first message has a trace of its own.
    const joined = link?.shared && link;
    const { sampling, clock, parent } = config;
    recorder = createRecorder({ record, ...defined({ sampling, clock, parent }), ...(joined ? { sink: joined.sink(record) } : sink()) }, joined ?? workers);
    const recording = recorder;
    // Spans need to know the clock.
    if (isSent) void recording.ready.then(() => setInterval(() => recording.finished || send(recording), FLUSH));
    return recorder;
}

/** Hands over the current blocks, and warns if the trace doesn't arrive. */
function send(recording: PageRecorder): void {
    recording.flush();
    const { sink } = recording;
    const trouble = sink instanceof PostSink || sink instanceof OtlpSink ? sink.trouble : undefined;
    if (trouble !== undefined) warn(trouble);
}

function sink(): { sink?: Sink } {
    if (config.otlp !== undefined) {
        const spans = { request_bytes: REQUEST_BYTES, ...config.otlp.spans };
        return { sink: new OtlpSink(coreModule(config.core), { delay: DELAY, ...config.otlp, spans }) };
    }
    return config.post !== undefined ? { sink: new PostSink(config.post) } : {};
}

/** The page is being closed. */
function leave(): void {
    if (!recorder) return;
    if (recorder.sink instanceof PostSink || recorder.sink instanceof OtlpSink) recorder.sink.leave();
    recorder.leave();
    void recorder.finish('page closed').catch(() => undefined);
}

/** How long a worker that closes itself waits for its last response, in milliseconds. */
const CLOSING = 5000;

/** Delays the end of a worker that closes itself until its last response, because browsers drop requests of ended workers. */
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
    const { clock, record, period, spanMin, every, post, otlp, service, core, probe, only, skip, match, imports, rewriter, server, enabled, workers } = ownTag?.dataset ?? {};
    const isOn = (text: string | undefined): boolean | undefined => (text === undefined ? undefined : text !== 'false');
    const sampling = defined({ period, spanMin, every });
    return defined({
        clock, record, post, core, match, rewriter, server,
        sampling: Object.keys(sampling).length > 0 ? sampling : undefined,
        otlp: otlp === undefined ? undefined : { endpoint: otlp, spans: service === undefined ? {} : { service_name: service } },
        probe: probe === 'none' ? undefined : probe,
        only: only === undefined ? undefined : [only],
        skip: skip === undefined ? undefined : [skip],
        imports: isOn(imports), enabled: isOn(enabled), workers: isOn(workers),
    }) as PageConfig;
}

/** Without the members that are undefined. */
function defined(of: object): object {
    return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined));
}
