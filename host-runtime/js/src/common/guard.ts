/** Imports through which a guest ends: what is open then is closed with the right reason. */

import { Reason } from './constants.js';
import type { Lanes } from './lanes.js';

/** `proc_exit` of a WASI implementation. */
export type Exit = (code: number) => unknown;

/**
 * The imports with `proc_exit` of WASI guarded. All others stay the very functions that they were. `ended` is told before a
 * program ends.
 */
export function guard(imports: WebAssembly.Imports, lanes: Lanes, ended: (code: number, exit: Exit) => void): WebAssembly.Imports {
    const guarded: WebAssembly.Imports = { ...imports };
    for (const name of ['wasi_snapshot_preview1', 'wasi_unstable']) {
        const wasi = imports[name];
        const exit = wasi?.['proc_exit'];
        if (!wasi || typeof exit !== 'function') continue;
        const call = exit as Exit;
        guarded[name] = {
            ...wasi,
            proc_exit(code: number) {
                lanes.close(Reason.Exit);
                ended(code, call);
                return call.call(wasi, code);
            },
        };
    }
    return guarded;
}
