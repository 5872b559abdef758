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
    for (const part of text.split(',').map((part) => part.trim()).filter((part) => part !== '')) {
        const at = part.indexOf('=');
        if (at < 1) throw new Error(`kperf: ${name}: \`${part}\` is not key=value`);
        try {
            pairs[decodeURIComponent(part.slice(0, at).trim())] = decodeURIComponent(part.slice(at + 1).trim());
        } catch {
            throw new Error(`kperf: ${name}: \`${part}\` is not percent-encoded`);
        }
    }
    return pairs;
}

type Environment = Record<string, string | undefined>;

/** Reads the environment, by OpenTelemetry's specification. `undefined` without an endpoint, unless `OTEL_TRACES_EXPORTER` is `otlp`. */
export function otlpFromEnvironment(env: Environment): OtlpOptions | undefined {
    // Variables for traces precede; an empty one counts as unset.
    const exporter = (name: string): string | undefined =>
        env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;
    const wanted = (env['OTEL_TRACES_EXPORTER'] || undefined)?.split(',').map((word) => word.trim());
    if (wanted ? !wanted.includes('otlp') : !exporter('ENDPOINT')) return undefined;
    const protocol = exporter('PROTOCOL') ?? 'http/protobuf';
    if (protocol !== 'http/protobuf') {
        throw new Error(`kperf: OTEL_EXPORTER_OTLP_PROTOCOL=${protocol}: only http/protobuf is supported here; \`kperf-wasm send\` sends a trace's file by other protocols`);
    }
    const options: OtlpOptions = { spans: spansFromEnvironment(env) };
    const [url, endpoint] = [env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'], env['OTEL_EXPORTER_OTLP_ENDPOINT']];
    if (url) options.url = url;
    else if (endpoint) options.endpoint = endpoint;
    const headers = exporter('HEADERS');
    if (headers) options.headers = parsePairs(headers, 'OTEL_EXPORTER_OTLP_HEADERS');
    const compression = exporter('COMPRESSION');
    if (compression === 'gzip' || compression === 'none') options.compression = compression;
    else if (compression) throw new Error(`kperf: OTEL_EXPORTER_OTLP_COMPRESSION=${compression}: use gzip or none`);
    const timeout = exporter('TIMEOUT');
    if (timeout) options.timeout = number(timeout, 'OTEL_EXPORTER_OTLP_TIMEOUT');
    const delay = env['OTEL_BSP_SCHEDULE_DELAY'];
    if (delay) options.delay = number(delay, 'OTEL_BSP_SCHEDULE_DELAY');
    const batch = env['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'];
    if (batch) options.spans = { ...options.spans, request_spans: number(batch, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1) };
    tracesUrl(options);
    return options;
}

function spansFromEnvironment(env: Environment): SpanOptions {
    const spans: SpanOptions = {};
    const attributes = env['OTEL_RESOURCE_ATTRIBUTES'];
    if (attributes) spans.attributes = parsePairs(attributes, 'OTEL_RESOURCE_ATTRIBUTES');
    if (env['OTEL_SERVICE_NAME']) spans.service_name = env['OTEL_SERVICE_NAME'];
    for (const name of ['min_nanos', 'max_depth', 'max_spans'] as const) {
        const variable = `KPERF_SPAN_${name.toUpperCase()}`;
        if (env[variable]) spans[name] = number(env[variable], variable);
    }
    return spans;
}

function number(text: string, name: string, min = 0): number {
    if (!/^\d+$/.test(text.trim())) throw new Error(`kperf: ${name}=${text}: not a whole number`);
    const value = Number(text);
    if (value < min) throw new Error(`kperf: ${name}=${text}: use at least ${min}`);
    return value;
}
