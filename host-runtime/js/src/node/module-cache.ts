/** A folder of rewritten modules, for later processes. */

import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { Rewriting } from '../common/hook/rewriter.js';

/** The maximum size of the folder. Least recently used files are deleted first. */
const MAX_BYTES = 2 ** 30;
/** The minimum size of a cached module. Smaller ones are rewritten in less time than the cache takes. */
const MIN_BYTES = 1 << 14;
/** A file begins with the SHA-256 of the rest. */
const CHECK_BYTES = 32;
/** Names of our files: a SHA-256. While a file is written, its process and thread follow. */
const OWN = /^[0-9a-f]{64}(\.\d+-\d+)?$/;
/** The first byte of a module. Other contents are the reason why a module can't have probes. */
const MODULE = 0;

/** The folder in the user's caches, by the system's conventions; `undefined` for a user without a home. */
export function cacheFolder(env: NodeJS.ProcessEnv): string | undefined {
    const { XDG_CACHE_HOME, LOCALAPPDATA } = env;
    try {
        const folder = process.platform === 'win32' ? LOCALAPPDATA : process.platform === 'darwin' ? join(homedir(), 'Library/Caches') : XDG_CACHE_HOME;
        return join(folder || join(homedir(), '.cache'), 'kperf-wasm', 'modules');
    } catch {
        return undefined;
    }
}

function checkOf(content: Uint8Array): Buffer {
    return createHash('sha256').update(content).digest();
}

export class ModuleCache {
    readonly #folder: string;
    #hasRoom = false;

    constructor(folder: string) {
        this.#folder = folder;
    }

    /** The kept result, if there is one. Ignores a damaged file. */
    get(key: string): { rewriting: Rewriting } | undefined {
        const path = join(this.#folder, key);
        try {
            const bytes = readFileSync(path);
            const content = bytes.subarray(CHECK_BYTES);
            if (!checkOf(content).equals(bytes.subarray(0, CHECK_BYTES))) return undefined;
            const now = new Date();
            utimesSync(path, now, now);
            if (content.length === 0) return { rewriting: undefined };
            return { rewriting: content[0] === MODULE ? new Uint8Array(content.buffer as ArrayBuffer, content.byteOffset, content.length) : content.toString() };
        } catch {
            return undefined;
        }
    }

    /** Keeps a result, if the folder can be written. */
    put(key: string, rewriting: Rewriting): void {
        const content = Buffer.from(rewriting ?? '');
        if (content[0] === MODULE && content.length < MIN_BYTES) return;
        const path = join(this.#folder, key);
        const unfinished = `${path}.${process.pid}-${threadId}`;
        try {
            mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
            writeFileSync(unfinished, checkOf(content));
            appendFileSync(unfinished, content);
            renameSync(unfinished, path);
            if (!this.#hasRoom) this.#makeRoom();
            this.#hasRoom = true;
        } catch {
            removeIfPossible(unfinished);
        }
    }

    /** Deletes old files: once per thread, since it lists all. The user chose the folder, which may have other files. */
    #makeRoom(): void {
        const files = readdirSync(this.#folder).filter((name) => OWN.test(name)).map((name) => {
            const path = join(this.#folder, name);
            const { size, mtimeMs } = statSync(path);
            return { path, size, mtimeMs };
        });
        let bytes = files.reduce((sum, { size }) => sum + size, 0);
        for (const { path, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
            if (bytes <= MAX_BYTES) return;
            removeIfPossible(path);
            bytes -= size;
        }
    }
}

function removeIfPossible(path: string): void {
    try {
        rmSync(path, { force: true });
    } catch {
        // The folder may be forbidden.
    }
}
