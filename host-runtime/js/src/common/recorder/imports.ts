/** What an instance of a probed module gets: what the program supplies, and what is ours. */

import { Reason } from '../constants.js';
import { importsOf } from '../engine.js';
import type { Lanes } from './lanes.js';

/** `proc_exit` of a WASI implementation. */
export type Exit = (code: number) => unknown;

/** What the engine may ask a program's object for, which may be a Proxy. */
type Given = Record<string, WebAssembly.ImportValue> | undefined;

const WASI = ['wasi_snapshot_preview1', 'wasi_unstable'];

/**
 * The imports that a module asks for, each looked up as the engine would: what a prototype or a Proxy answers counts. `ours` come
 * beside them. All functions stay the very functions that they were, but for `proc_exit` of WASI, through which a guest ends: what is
 * open then is closed with the right reason, and `ended` is told.
 */
export function importsWith(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports | undefined,
    ours: WebAssembly.Imports,
    lanes: Lanes,
    ended: (code: number, exit: Exit) => void,
): WebAssembly.Imports {
    const wanted = importsOf(module);
    const supplied: WebAssembly.Imports = {};
    for (const from of new Set(wanted.map(({ module }) => module))) {
        const names = wanted.filter(({ module }) => module === from).map(({ name }) => name);
        const isOurs = names.every((name) => Object.hasOwn(ours[from] ?? {}, name));
        // A Proxy may throw where it is asked for what the program doesn't know of.
        const given = isOurs ? undefined : (imports?.[from] as Given);
        const own = ours[from] ?? (WASI.includes(from) ? guarded(given, lanes, ended) : undefined);
        supplied[from] = own ? Object.fromEntries(names.map((name) => [name, Object.hasOwn(own, name) ? own[name]! : given?.[name]!])) : given!;
    }
    return supplied;
}

/** `proc_exit`, if that is a function. */
function guarded(wasi: Given, lanes: Lanes, ended: (code: number, exit: Exit) => void): WebAssembly.ModuleImports | undefined {
    const exit = wasi?.['proc_exit'] as Exit;
    if (typeof exit !== 'function') return undefined;
    return {
        proc_exit(code: number) {
            lanes.close(Reason.Exit);
            ended(code, exit);
            return exit(code);
        },
    };
}
