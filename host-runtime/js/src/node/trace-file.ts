/** Opens a trace's file, unless another process that runs at the same time writes to it. */

import { closeSync, linkSync, lstatSync, openSync, readSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, parse } from 'node:path';
import { CHUNK_HEADER, PREAMBLE } from '../common/constants.js';
import type { Header } from '../common/trace/trace.js';

/** More than the length of the first chunk, unless the command is very long, and of the last. */
const ENOUGH = 1 << 16;
/** The longest time between a file's creation and its first chunk, in milliseconds. Usually less than one. */
const PATIENCE = 50;

/** The path with this process's id. */
export function ownPathOf(path: string): string {
    const { dir, name, ext } = parse(path);
    return join(dir, `${name}-${process.pid}${ext}`);
}

/** Opens a file, replacing an older trace. If an `other` process that ran at the same time has its trace there, opens `ownPathOf` instead. */
export function openTrace(path: string): { file: number; other?: number } {
    const file = create(path);
    if (file !== undefined) return { file };
    const other = writerOf(path);
    if (other !== undefined) return { file: openSync(ownPathOf(path), 'w'), other };
    return replace(path);
}

/** Creates a file; `undefined` if it exists. */
export function create(path: string, mode?: number): number | undefined {
    try {
        return openSync(path, 'wx', mode);
    } catch (error) {
        if (codeOf(error) === 'EEXIST') return undefined;
        throw error;
    }
}

/** Replaces a file. If several processes do so, the first that moves it away succeeds. */
function replace(path: string): { file: number; other?: number } {
    const { isFile, mode } = describe(path);
    // Another process may be moving it away just now. A broken link stays.
    if (!isFile) return lstatSync(path, { throwIfNoEntry: false }) === undefined ? openTrace(path) : { file: openSync(path, 'w') };
    let [real, aside] = [path, ''];
    try {
        real = realpathSync(path);
        aside = `${real}.${process.pid}`;
        renameSync(real, aside);
    } catch (error) {
        return codeOf(error) === 'ENOENT' ? openTrace(path) : { file: openSync(path, 'w') };
    }
    // Another process may have replaced it first: then this is its file.
    const other = writerOf(aside);
    if (other !== undefined) {
        linkSync(aside, real);
        rmSync(aside);
        return { file: openSync(ownPathOf(path), 'w'), other };
    }
    rmSync(aside);
    const file = create(real, mode);
    return file === undefined ? openTrace(path) : { file };
}

function codeOf(error: unknown): string | undefined {
    return (error as NodeJS.ErrnoException).code;
}

/** The other process that writes its trace to a file, or did so since this one began. */
function writerOf(path: string): number | undefined {
    for (const begin = performance.now(); ; sleep()) {
        const found = tryToLook(path);
        if (found !== 'begun') return found;
        if (performance.now() - begin > PATIENCE) return undefined;
    }
}

/** A file that can't be read may still be written. */
function tryToLook(path: string): ReturnType<typeof look> {
    try {
        return look(path);
    } catch {
        return undefined;
    }
}

/** Reads the process from a trace; `begun` if its header isn't complete. */
function look(path: string): number | 'begun' | undefined {
    const { size, isFile, changed } = describe(path);
    // A terminal or a pipe.
    if (!isFile) return undefined;
    const file = openSync(path, 'r');
    try {
        const start = read(file, 0);
        const payload = PREAMBLE.length + CHUNK_HEADER;
        if (start.length < payload) return 'begun';
        const end = payload + start.readUInt32LE(PREAMBLE.length + 16);
        if (!start.subarray(0, 6).equals(PREAMBLE.subarray(0, 6))) return undefined;
        if (end > start.length) return end > ENOUGH ? undefined : 'begun';
        const { host } = JSON.parse(start.toString('utf8', payload, end)) as Partial<Header>;
        if (typeof host?.pid !== 'number' || host.pid === process.pid) return undefined;
        // A process that ended since this one began ran at the same time, too.
        const isRecent = changed > Date.now() - 1000 * process.uptime();
        const isWhole = read(file, Math.max(0, size - ENOUGH)).includes('\xf5kpfENDT', 'latin1');
        return isRecent || (!isWhole && isAlive(host.pid)) ? host.pid : undefined;
    } finally {
        closeSync(file);
    }
}

function describe(path: string): { size: number; isFile: boolean; mode: number | undefined; changed: number } {
    const found = statSync(path, { throwIfNoEntry: false });
    return { size: found?.size ?? 0, isFile: found?.isFile() ?? false, mode: found && found.mode & 0o777, changed: found?.mtimeMs ?? 0 };
}

function read(file: number, at: number): Buffer {
    const buffer = Buffer.alloc(ENOUGH);
    return buffer.subarray(0, readSync(file, buffer, 0, ENOUGH, at));
}

function isAlive(pid: number): boolean {
    try {
        process.kill(pid, 0);
        return true;
    } catch (error) {
        // It is another user's.
        return codeOf(error) === 'EPERM';
    }
}

function sleep(): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}
