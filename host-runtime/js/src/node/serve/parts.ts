/** Makes files of the parts of traces that pages post. */

import { closeSync, fstatSync, ftruncateSync, mkdirSync, writeSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { reasonOf } from '../../common/warn.js';
import { PART } from '../../common/serving.js';
import { create } from '../trace-file.js';
import { body, MAX_POST, Refused, tooLarge } from './answer.js';

/** A part of a page's trace. */
export interface Part {
    /** The trace's random number, in hexadecimal. */
    trace: string;
    /** The part's number, from 0. */
    number: number;
    isLast: boolean;
    /** In the last part: the maximum number of bytes that the browser has not sent. */
    unsent: number;
    /** Complete chunks of the trace. */
    bytes: Uint8Array;
}

/** The most parts, and bytes, that may wait for an earlier part. The page posts refused parts again. */
const MAX_EARLY = 64;
const MAX_EARLY_BYTES = 512 << 20;
/** How long a trace with its last part waits for earlier ones, in milliseconds: a closed page posts nothing again. */
const LATE = 3000;
/** The status of a response: there is no room for a part now. */
const NO_ROOM = 507;

const unpack = promisify(gunzip);
/** Parts are unpacked one at a time, which limits memory. */
let unpacking: Promise<unknown> = Promise.resolve();

/** Reads a part. Throws `Refused` if the request has none. */
export async function partOf(request: IncomingMessage): Promise<Part> {
    const { headers } = request;
    const header = (name: string): string => {
        const value = headers[name];
        // Pages of other sites need a preflight request for these headers, which is never granted.
        if (typeof value !== 'string') throw new Refused(400, `the header ${name} is missing`);
        return value;
    };
    const [trace, number] = [header(PART.trace), header(PART.number)];
    if (!/^[0-9a-f]{32}$/i.test(trace)) throw new Refused(400, `the header ${PART.trace} is not 32 hexadecimal digits`);
    if (!/^\d{1,9}$/.test(number)) throw new Refused(400, `the header ${PART.number} is not a number`);
    const unsent = Number(headers[PART.unsent] ?? 0);
    const packed = await body(request);
    const bytes = headers['content-encoding'] === 'gzip' ? await unpacked(packed) : packed;
    return { trace, number: Number(number), isLast: headers[PART.last] !== undefined, unsent: Number.isSafeInteger(unsent) ? unsent : 0, bytes };
}

function unpacked(packed: Buffer): Promise<Buffer> {
    const bytes = unpacking.then(() => unpack(packed, { maxOutputLength: MAX_POST })).catch((error: Error & { code?: string }) => {
        throw error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : new Refused(400, `failed to unpack it: ${error.message}`);
    });
    unpacking = bytes.catch(() => undefined);
    return bytes;
}

/** The file of a page's trace. Parts are written in order, each whole or not at all. */
export class TraceFile {
    readonly path: string;
    /** Called with the bytes of each part that was written. */
    onWrite: ((bytes: Uint8Array) => void) | undefined;
    readonly #file: number;
    #isEnded = false;
    #next = 0;
    #last: number | undefined;
    #unsent = 0;
    #late: NodeJS.Timeout | undefined;
    readonly #early = new Map<number, Uint8Array>();

    /** Makes `NAME-1.kperf`, or the next free name. */
    constructor(folder: string, name: string) {
        try {
            mkdirSync(folder, { recursive: true });
            for (let number = 1; ; number++) {
                const path = join(folder, `${name}-${number}.kperf`);
                const file = create(path);
                if (file === undefined) continue;
                [this.path, this.#file] = [path, file];
                return;
            }
        } catch (error) {
            throw new Refused(NO_ROOM, `failed to create a trace in \`${folder}\`: ${reasonOf(error)}`);
        }
    }

    get isEnded(): boolean {
        return this.#isEnded;
    }

    /** Whether the file has the first part, without which the others can't be read. */
    get isReadable(): boolean {
        return this.#next > 0;
    }

    /** Adds a part; a duplicate changes nothing. Calls `end` when the trace is complete, or when the missing parts are late. */
    add({ number, isLast, unsent, bytes }: Part, end: () => void): void {
        if (this.#isEnded || number < this.#next) return;
        if (isLast) [this.#last, this.#unsent] = [number, unsent];
        const waiting = [...this.#early.values()].reduce((sum, { length }) => sum + length, 0);
        if (number !== this.#next && (this.#early.size >= MAX_EARLY || waiting + bytes.length > MAX_EARLY_BYTES)) {
            throw new Refused(NO_ROOM, `part ${this.#next} is missing, and too many later parts wait for it`);
        }
        this.#early.set(number, bytes);
        for (let next; (next = this.#early.get(this.#next)); this.#next++) {
            this.#write(next);
            this.#early.delete(this.#next);
        }
        clearTimeout(this.#late);
        if (this.#last === undefined) return;
        if (this.#next > this.#last) end();
        else this.#late = setTimeout(end, LATE);
    }

    /** Writes the parts after a missing one, and closes the file. Returns warnings and errors. */
    end(): string[] {
        this.#isEnded = true;
        clearTimeout(this.#late);
        const problems = [];
        if (!this.isReadable) problems.push(`error: ${this.path}: its first part is missing, so it can't be read`);
        else if (this.#early.size > 0) problems.push(`warning: ${this.path}: part ${this.#next} is missing${this.#unsent > 0 ? `; up to ${this.#unsent} bytes were lost: browsers guarantee only 64 KiB for a closed page` : ''}`);
        try {
            // Readers report the missing part.
            if (this.isReadable) for (const [, bytes] of [...this.#early].sort(([a], [b]) => a - b)) this.#write(bytes);
        } catch (error) {
            problems.push(`error: ${reasonOf(error)}`);
        }
        closeSync(this.#file);
        this.#early.clear();
        return problems;
    }

    /** Undoes a partial write: the page posts the part again. */
    #write(bytes: Uint8Array): void {
        const before = fstatSync(this.#file).size;
        try {
            for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, before + at);
        } catch (error) {
            ftruncateSync(this.#file, before);
            throw new Refused(NO_ROOM, `failed to write \`${this.path}\`: ${reasonOf(error)}`);
        }
        this.onWrite?.(bytes);
    }
}
