/** Adds a run to a dataset, by the same code as `kperf-wasm collect` (dataset/). */

import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { parsePairs } from '../common/otlp-settings.js';
import { reasonOf } from '../common/reason.js';

/** What is said of a run beside what is in its trace. */
export interface RunLabels {
    /** The service that ran. Default: `service.name` of the attributes, or the module's name. */
    service?: string;
    /** Attributes of OpenTelemetry's resource. `service.version` and `host.name` have columns of their own. */
    attributes?: Record<string, string>;
}

/** What became of a run. */
export interface AddedRun {
    /** Whether it is new in the dataset. If not, it was there with less. */
    new: boolean;
    /** What makes its figures doubtful. */
    warnings: string[];
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. Throws where they make no sense. */
export function labelsFromEnvironment(env: NodeJS.ProcessEnv): RunLabels {
    const [service, attributes] = [env['OTEL_SERVICE_NAME'], env['OTEL_RESOURCE_ATTRIBUTES']];
    return { ...(service && { service }), ...(attributes && { attributes: parsePairs(attributes, 'OTEL_RESOURCE_ATTRIBUTES') }) };
}

/** A question about the dataset's files: see `Question` in dataset/src/host.rs. */
type Question = { list: string } | { folders: string } | { get: string } | { has: string } | { delete: string } | { prepare: string };

interface Exports {
    memory: WebAssembly.Memory;
    kperf_input(length: number): number;
    kperf_add(length: number): number;
    kperf_output(): number;
    kperf_output_length(): number;
}

/** How often a file is written that another process has cleared away before it had its name. */
const TRIES = 5;

/**
 * Adds the run of a trace's file that has ended to a dataset: a folder, which is made if it isn't there. Throws if the trace can't be read
 * or the dataset not be written; then the dataset is as it was.
 */
export function addRun(trace: string, dataset: string, labels: RunLabels = {}): AddedRun {
    const file = openSync(trace, 'r');
    try {
        const ask = {
            dataset,
            trace,
            name: basename(trace, extname(trace)),
            length: fstatSync(file).size,
            ...(labels.service !== undefined && { service: labels.service }),
            attributes: Object.entries(labels.attributes ?? {}),
        };
        return call(file, dataset, ask);
    } catch (error) {
        throw new Error(`kperf: the run is not in the dataset \`${dataset}\`: ${reasonOf(error)}`);
    } finally {
        closeSync(file);
    }
}

function call(trace: number, dataset: string, ask: object): AddedRun {
    const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
    const bytes = (at: number, length: number): Uint8Array => new Uint8Array(exports.memory.buffer, at >>> 0, length);
    let at = 0;
    let answer = new Uint8Array();
    const imports = {
        read(to: number, length: number): number {
            const read = readSync(trace, bytes(to, length), 0, length, at);
            at += read;
            return read;
        },
        ask(question: number, length: number): number {
            answer = encoder.encode(JSON.stringify(answerOf(dataset, JSON.parse(decoder.decode(bytes(question, length))) as Question)));
            return answer.length;
        },
        answer: (to: number) => bytes(to, answer.length).set(answer),
        put: (key: number, keyLength: number, from: number, length: number) => put(join(dataset, decoder.decode(bytes(key, keyLength))), bytes(from, length)),
    };
    const module = new WebAssembly.Module(readFileSync(new URL('../dataset.wasm', import.meta.url)));
    const exports = new WebAssembly.Instance(module, { kperf: imports }).exports as unknown as Exports;
    const json = encoder.encode(JSON.stringify(ask));
    bytes(exports.kperf_input(json.length), json.length).set(json);
    const status = exports.kperf_add(json.length);
    const text = decoder.decode(bytes(exports.kperf_output(), exports.kperf_output_length()));
    if (status !== 0) throw new Error(text);
    return JSON.parse(text) as AddedRun;
}

function answerOf(dataset: string, question: Question): unknown {
    if ('list' in question) return files(dataset, question.list);
    if ('folders' in question) return entries(join(dataset, question.folders)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
    if ('get' in question) return existsSync(join(dataset, question.get)) ? readFileSync(join(dataset, question.get), 'utf8') : null;
    if ('has' in question) return existsSync(join(dataset, question.has));
    if ('delete' in question) {
        rmSync(join(dataset, question.delete), { force: true });
        return null;
    }
    prepare(dataset);
    return null;
}

/** The names of all files below a folder, with its own. */
function files(dataset: string, folder: string): string[] {
    return entries(join(dataset, folder)).flatMap((entry) => {
        const key = `${folder}/${entry.name}`;
        return entry.isDirectory() ? files(dataset, key) : [key];
    });
}

/** What is in a folder; nothing if it isn't there. */
function entries(folder: string): import('node:fs').Dirent[] {
    try {
        return readdirSync(folder, { withFileTypes: true });
    } catch (error) {
        if (codeOf(error) === 'ENOENT') return [];
        throw error;
    }
}

/** Makes the folder. Throws if it has files that are no dataset's. */
function prepare(dataset: string): void {
    mkdirSync(dataset, { recursive: true });
    const other = entries(dataset).find(({ name }) => !name.startsWith('.'));
    if (other) throw new Error(`it is no dataset, and not empty (\`${other.name}\`); name another folder`);
}

/**
 * Writes a file so that it is there whole or not at all, and on the disk before it has its name. Node has no locks, so a process that holds
 * the dataset's may take what has no name yet for the rest of one that was killed.
 */
function put(path: string, bytes: Uint8Array): void {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    const beside = join(folder, `.${basename(path)}.${process.pid}.part`);
    for (let tries = 1; ; tries++) {
        try {
            const file = openSync(beside, 'w');
            try {
                for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
                fsyncSync(file);
            } finally {
                closeSync(file);
            }
            renameSync(beside, path);
            break;
        } catch (error) {
            if (codeOf(error) === 'ENOENT' && tries < TRIES) continue;
            rmSync(beside, { force: true });
            throw error;
        }
    }
    flushFolder(folder);
}

/** Not every system can do that. */
function flushFolder(path: string): void {
    if (process.platform === 'win32') return;
    const folder = openSync(path, 'r');
    try {
        fsyncSync(folder);
    } finally {
        closeSync(folder);
    }
}

function codeOf(error: unknown): string | undefined {
    return (error as NodeJS.ErrnoException).code;
}
