/** The lines on stderr at a recording's end. */

import { tracesUrl } from '../common/otlp/settings.js';
import type { OtlpOptions } from '../common/otlp/settings.js';
import { undelivered } from '../common/otlp/sink.js';
import type { Summary } from '../common/trace/trace.js';
import { ownPathOf } from './trace-file.js';

export interface LastLines {
    /** The trace's path as the user knows it. */
    path: string;
    /** Only warnings. */
    quiet: boolean;
    otlp?: OtlpOptions | undefined;
}

/** Each with its line feed. */
export function lastLines(summary: Summary, isProfile: boolean, { path, quiet, otlp }: LastLines): string[] {
    const { events, probes, dropped_events, sent, other } = summary;
    const written = other === undefined ? path : ownPathOf(path);
    const lines = sentLines(sent, written, quiet, otlp);
    if (other !== undefined) lines.push(`${path} belongs to process ${other}, which ran at the same time; the trace of this process is ${written}`);
    if (!quiet && probes > 0) {
        const lost = dropped_events > 0 ? `, ${dropped_events} lost` : '';
        const what = isProfile ? `a profile of ${probes} functions` : `${events} events of ${probes} functions`;
        lines.push(`${what}${lost}: kperf-wasm report ${written}`);
    }
    return lines.map((line) => `kperf: ${line}\n`);
}

/** What to add to the error of a trace that could not be written, from whose file spans are sent. */
export function sentOfBroken(sent: Summary['sent']): string {
    return sent ? `; spans come from its file, so ${sent.delivery?.acknowledged || 'none'} of them were sent` : '';
}

/** The delivery of spans; if `quiet` only failures. */
function sentLines(sent: Summary['sent'], path: string, quiet: boolean, otlp: OtlpOptions | undefined): string[] {
    if (!otlp || !sent) return [];
    const url = tracesUrl(otlp);
    const trouble = sent.failure ?? (sent.delivery && undelivered(sent.delivery, url));
    if (trouble !== undefined) return [`${trouble.replace(/^kperf: /, '')}; \`kperf-wasm send ${path}\` sends them again`];
    const left = sent.left ? `, and ${sent.left} calls have none: at most ${otlp.spansPerSecond} a second (KPERF_SPAN_RATE=all sends all)` : '';
    return !quiet && sent.delivery ? [`${sent.delivery.acknowledged} spans sent to ${url}${left}`] : [];
}
