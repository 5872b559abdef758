/** Settings for sending spans, by OpenTelemetry's names. */

import type { SpanOptions } from '../trace/core.js';

export interface OtlpOptions {
    /** The Collector's URL, to which `/v1/traces` is added. Default: `http://localhost:4318`. */
    endpoint?: string;
    /** The full URL, instead of `endpoint`. */
    url?: string;
    /** Headers of every request. */
    headers?: Record<string, string>;
    /** Default: `gzip`, if the host has it. */
    compression?: 'gzip' | 'none';
    /** The longest wait for a response, in milliseconds. Default: 10,000. */
    timeout?: number;
    /** How long a request is retried, and how long later ones are dropped if it fails, in milliseconds. Default: 60,000. */
    giveUpAfter?: number;
    /** How long spans wait for others before they are sent, in milliseconds. Default: 1000. */
    delay?: number;
    /** The maximum number of spans a second, in node; the spans around those come, too. Default: no limit. */
    spansPerSecond?: number;
    /** The calls that become spans, and the resource's attributes. */
    spans?: SpanOptions;
}

export const DEFAULT_ENDPOINT = 'http://localhost:4318';

/** The URL that spans are posted to. Throws if it is invalid. */
export function tracesUrl({ url, endpoint }: OtlpOptions): string {
    const given = url ?? endpoint ?? DEFAULT_ENDPOINT;
    const here = (globalThis as { location?: { href: string } }).location?.href;
    if (!URL.canParse(given, here) || !/^https?:$/.test(new URL(given, here).protocol)) {
        throw new Error(`kperf: \`${given}\` is not an http or https URL: give one such as ${DEFAULT_ENDPOINT}`);
    }
    return url ?? `${given.replace(/\/+$/, '')}/v1/traces`;
}

/** Parses `key=value,key2=value2`, percent-encoded, of the variable `name`. */
export function parsePairs(text: string, name: string): Record<string, string> {
    const pairs: Record<string, string> = {};
    const parts = text.split(',').map((part) => part.trim()).filter((part) => part !== '');
    // Errors don't show values, which may be secret.
    for (const [n, part] of parts.entries()) {
        const at = part.indexOf('=');
        if (at < 1) throw new Error(`kperf: ${name}: pair ${n + 1} is not key=value`);
        try {
            pairs[decodeURIComponent(part.slice(0, at).trim())] = decodeURIComponent(part.slice(at + 1).trim());
        } catch {
            throw new Error(`kperf: ${name}: pair ${n + 1} is not percent-encoded`);
        }
    }
    return pairs;
}

/** The longest timer, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;

/** "Port blocking" in the Fetch standard. */
const BLOCKED_PORTS = ' 0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 '
    + '161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 '
    + '5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080 ';

type Environment = Record<string, string | undefined>;

/** Reads the environment, by OpenTelemetry's specification. `undefined` without an endpoint, unless `OTEL_TRACES_EXPORTER` is `otlp`. */
export function otlpFromEnvironment(env: Environment): OtlpOptions | undefined {
    // Variables for traces precede; an empty one counts as unset.
    const exporter = (name: string): string | undefined =>
        env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;
    const wanted = (env['OTEL_TRACES_EXPORTER'] || undefined)?.split(',').map((word) => word.trim());
    if (wanted ? !wanted.includes('otlp') : !exporter('ENDPOINT')) return undefined;
    const options: OtlpOptions = { spans: spansFromEnvironment(env) };
    const protocol = exporter('PROTOCOL') ?? 'http/protobuf';
    if (protocol !== 'http/protobuf') {
        throw new Error(`kperf: OTEL_EXPORTER_OTLP_PROTOCOL=${protocol}: only http/protobuf is supported here; \`kperf-wasm send\` sends a trace's file by other protocols`);
    }
    const [url, endpoint] = [env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'], env['OTEL_EXPORTER_OTLP_ENDPOINT']];
    if (url) options.url = url;
    else if (endpoint) options.endpoint = endpoint;
    const headers = exporter('HEADERS');
    if (headers) options.headers = checkedHeaders(parsePairs(headers, 'OTEL_EXPORTER_OTLP_HEADERS'));
    const compression = exporter('COMPRESSION');
    if (compression === 'gzip' || compression === 'none') options.compression = compression;
    else if (compression) throw new Error(`kperf: OTEL_EXPORTER_OTLP_COMPRESSION=${compression}: use gzip or none`);
    const timeout = exporter('TIMEOUT');
    if (timeout) options.timeout = number(timeout, 'OTEL_EXPORTER_OTLP_TIMEOUT', 1, MAX_TIMER);
    const delay = env['OTEL_BSP_SCHEDULE_DELAY'];
    if (delay) options.delay = number(delay, 'OTEL_BSP_SCHEDULE_DELAY');
    const batch = env['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'];
    if (batch) options.spans = { ...options.spans, request_spans: number(batch, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1) };
    checkUrl(options);
    return options;
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
    for (const [name, value] of Object.entries(headers)) {
        try {
            new Headers([[name, value]]);
        } catch {
            throw new Error(`kperf: OTEL_EXPORTER_OTLP_HEADERS: \`${name}\` or its value is not valid in a header`);
        }
    }
    return headers;
}

/** Throws if `fetch` refuses the URL. Doesn't show passwords. */
function checkUrl(options: OtlpOptions): void {
    const given = options.url ?? options.endpoint ?? DEFAULT_ENDPOINT;
    const parsed = URL.canParse(given) ? new URL(given) : undefined;
    const isPlain = parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password;
    if (given.includes('@') && !isPlain) throw new Error('kperf: the Collector\'s URL has credentials or is invalid: use OTEL_EXPORTER_OTLP_HEADERS');
    tracesUrl(options);
    if (parsed && BLOCKED_PORTS.includes(` ${parsed.port} `)) throw new Error(`kperf: port ${parsed.port} of \`${given}\` is reserved, and \`fetch\` refuses it`);
}

function spansFromEnvironment(env: Environment): SpanOptions {
    const spans: SpanOptions = {};
    const attributes = env['OTEL_RESOURCE_ATTRIBUTES'];
    if (attributes) spans.attributes = parsePairs(attributes, 'OTEL_RESOURCE_ATTRIBUTES');
    if (env['OTEL_SERVICE_NAME']) spans.service_name = env['OTEL_SERVICE_NAME'];
    for (const name of ['min_nanos', 'max_depth', 'max_spans'] as const) {
        const variable = `KPERF_SPAN_${name.toUpperCase()}`;
        if (env[variable]) spans[name] = number(env[variable], variable, 0, name === 'max_depth' ? 2 ** 32 - 1 : undefined);
    }
    return spans;
}

function number(text: string, name: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
    if (!/^\d+$/.test(text.trim())) throw new Error(`kperf: ${name}=${text}: not a whole number`);
    const value = Number(text);
    if (value < min || value > max) throw new Error(`kperf: ${name}=${text}: use ${min} to ${max}`);
    return value;
}
