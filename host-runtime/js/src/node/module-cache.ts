/** A folder with modules that were rewritten, for the next process that loads them. */

import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { Rewriting } from '../common/hook/rewriter.js';

/** The folder has at most so many bytes; what wasn't used for longest goes first. */
const MOST_BYTES = 2 ** 30;
/** Smaller modules take less time to rewrite than to keep. */
const LEAST_BYTES = 1 << 14;
/** A file begins with the SHA-256 of all that follows. */
const CHECK_BYTES = 32;
/** The names of our files: a SHA-256, and while one is written the process and the thread that do it. */
const OWN = /^[0-9a-f]{64}(\.\d+-\d+)?$/;
/** The first byte after that in a file with a module. All others say why it can't be one. */
const MODULE = 0;

/** Where the user's caches are, by the customs of the system; `undefined` for a user without a home. */
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

    /** What became of a module, if that is known. A file that isn't as it was written counts for nothing. */
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

    /** Keeps that. Where nothing can be written, nothing is kept. */
    put(key: string, rewriting: Rewriting): void {
        const content = Buffer.from(rewriting ?? '');
        if (content[0] === MODULE && content.length < LEAST_BYTES) return;
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

    /** Once in a thread, because it looks at each file. The folder is the user's choice, and may have other files in it. */
    #makeRoom(): void {
        const files = readdirSync(this.#folder).filter((name) => OWN.test(name)).map((name) => {
            const path = join(this.#folder, name);
            const { size, mtimeMs } = statSync(path);
            return { path, size, mtimeMs };
        });
        let bytes = files.reduce((sum, { size }) => sum + size, 0);
        for (const { path, size } of files.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
            if (bytes <= MOST_BYTES) return;
            removeIfPossible(path);
            bytes -= size;
        }
    }
}

/** A folder that may not be entered says no to that too. */
function removeIfPossible(path: string): void {
    try {
        rmSync(path, { force: true });
    } catch {
        // It stays.
    }
}
