/** Tables, pages, pictures and comparisons of traces, by the Rust command's code (reports/). */

import { closeSync, openSync, readFileSync, readSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { RustModule } from '../common/rust-module.js';

/** Selects calls, by the names of flags. */
export interface CallChoice {
    only?: string[];
    skip?: string[];
    match?: 'auto' | 'glob' | 'regex' | 'text';
    depth?: number;
    min_time?: string;
    range?: string;
    lane?: string[];
}

/** A product: see `Make` in reports/src/make.rs. */
export type Make =
    | { view: { title: string; detail?: number } }
    | { flame: { title: string; reverse: boolean; chart: boolean; folded: boolean; calls: boolean } }
    | { report: { json?: boolean; limit?: number; compensate?: boolean; page?: boolean } }
    | { diff: { before: number; metric: 'self' | 'total' | 'calls'; paths: boolean; json: boolean; limit: number } };

/** Figures and warnings of a product. */
export interface Answer {
    warnings: string[];
    /** The number of calls, or of functions in a comparison. */
    calls: number;
    /** The number of those that are shown. */
    shown: number;
    /** The finest resolution, in nanoseconds or instructions; 0: each call by itself. */
    resolution: number;
}

interface Exports {
    kperf_make(length: number): number;
}

/** A trace that is read one or more times. */
class Trace {
    readonly #path: string;
    /** The content of a pipe, which can't be read twice. */
    #bytes: Uint8Array | undefined;
    #at = 0;
    #file: number | undefined;

    constructor(path: string) {
        this.#path = path;
    }

    rewind(): void {
        this.close();
        this.#at = 0;
        if (this.#path !== '-' && statSync(this.#path).isFile()) this.#file = openSync(this.#path, 'r');
        else this.#bytes ??= readFileSync(this.#path === '-' ? 0 : this.#path);
    }

    read(to: Uint8Array): number {
        const read = this.#file === undefined ? this.#copy(to) : readSync(this.#file, to, 0, to.length, this.#at);
        this.#at += read;
        return read;
    }

    close(): void {
        if (this.#file !== undefined) closeSync(this.#file);
        this.#file = undefined;
    }

    #copy(to: Uint8Array): number {
        const next = this.#bytes?.subarray(this.#at, this.#at + to.length) ?? new Uint8Array();
        to.set(next);
        return next.length;
    }
}

interface Imports {
    rewind(trace: number): void;
    read(trace: number, bytes: Uint8Array): number;
    write(bytes: Uint8Array): void;
}

let compiled: WebAssembly.Module | undefined;

/** An instance for one product, or for all questions. */
function reports({ rewind, read, write }: Imports): RustModule<Exports> {
    const imports = {
        rewind,
        read: (trace: number, at: number, length: number) => read(trace, instance.bytes(at, length)),
        write: (at: number, length: number) => write(instance.bytes(at, length)),
    };
    compiled ??= new WebAssembly.Module(readFileSync(new URL('../reports.wasm', import.meta.url)));
    const instance = new RustModule<Exports>(new WebAssembly.Instance(compiled, { kperf: imports }));
    return instance;
}

/** Makes a product of the traces at the paths `names`. */
function make(names: string[], calls: CallChoice, product: Make, write: (bytes: Uint8Array) => void): Answer {
    const traces = names.map((name) => new Trace(name));
    const instance = reports({ rewind: (trace) => traces[trace]!.rewind(), read: (trace, bytes) => traces[trace]!.read(bytes), write });
    try {
        instance.callWith(instance.exports.kperf_make, { make: product, names, calls });
        return JSON.parse(instance.text()) as Answer;
    } finally {
        for (const trace of traces) trace.close();
    }
}

/** Makes a product of a trace, as text. */
export function makeText(path: string, product: Make): { text: string; answer: Answer } {
    const [pieces, decoder] = [[] as string[], new TextDecoder()];
    const answer = make([path], {}, product, (bytes) => pieces.push(decoder.decode(bytes, { stream: true })));
    return { text: pieces.join(''), answer };
}

function writeAll(file: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
        try {
            done += writeSync(file, bytes, done);
        } catch (error) {
            if ((error as { code?: string }).code !== 'EAGAIN') throw error;
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
        }
    }
}

/** The real path of an existing file. */
function realPathOf(path: string): string | undefined {
    try {
        return realpathSync(path);
    } catch {
        return undefined;
    }
}

/** Makes a product of traces: a file, written whole or not at all, or stdout for `-`. */
export function makeFile(names: string[], calls: CallChoice, product: Make, output: string): Answer {
    if (output === '-') return make(names, calls, product, (bytes) => writeAll(1, bytes));
    const target = realPathOf(output) ?? output;
    if (names.some((name) => realPathOf(name) === target && statSync(target).isFile())) throw new Error(`\`${output}\` is an input and would be overwritten; name another file with -o`);
    // A device or a pipe can't be replaced.
    const isFile = statSync(target, { throwIfNoEntry: false })?.isFile() ?? true;
    const unfinished = isFile ? join(dirname(target), `.${basename(target).slice(0, 40)}.${process.pid}.part`) : target;
    const file = openSync(unfinished, 'w');
    try {
        const answer = make(names, calls, product, (bytes) => writeAll(file, bytes));
        closeSync(file);
        if (isFile) renameSync(unfinished, target);
        return answer;
    } catch (error) {
        if (isFile) rmSync(unfinished, { force: true });
        throw error;
    }
}
