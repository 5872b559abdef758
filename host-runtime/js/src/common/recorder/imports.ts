/** The imports of a probed module: the program's and ours. */

import { Reason } from '../constants.js';
import { importsOf, perModule } from '../engine.js';
import type { Lanes } from './lanes.js';

/** A WASI implementation's `proc_exit`. */
export type Exit = (code: number) => unknown;

/** A module's imports in the program's object, which may be a Proxy. */
type Given = Record<string, WebAssembly.ImportValue> | undefined;

const WASI = ['wasi_snapshot_preview1', 'wasi_unstable'];

/**
 * Looks up a module's imports as the engine does, through prototypes and Proxies, and adds `ours`. Functions are passed unchanged, except
 * WASI's `proc_exit`: it first closes the open frames with the reason `Exit`, and calls `ended`.
 */
export function importsWith(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports | undefined,
    ours: WebAssembly.Imports,
    lanes: Lanes,
    ended: (code: number, exit: Exit) => void,
): WebAssembly.Imports {
    const supplied: WebAssembly.Imports = {};
    for (const [from, names] of wantedBy(module)) {
        const isOurs = names.every((name) => Object.hasOwn(ours[from] ?? {}, name));
        // A Proxy may throw for names that the program doesn't know.
        const given = isOurs ? undefined : (imports?.[from] as Given);
        const own = ours[from] ?? (WASI.includes(from) ? wrappedExit(given, lanes, ended) : undefined);
        supplied[from] = own ? Object.fromEntries(names.map((name) => [name, Object.hasOwn(own, name) ? own[name]! : given?.[name]!])) : given!;
    }
    return supplied;
}

/** The names of a module's imports, by the module that they are from. */
const wantedBy = perModule((module) => {
    const wanted = new Map<string, string[]>();
    for (const { module: from, name } of importsOf(module)) {
        const names = wanted.get(from);
        if (names) names.push(name);
        else wanted.set(from, [name]);
    }
    return wanted;
});

/** The wrapped `proc_exit`, if it is a function. */
function wrappedExit(wasi: Given, lanes: Lanes, ended: (code: number, exit: Exit) => void): WebAssembly.ModuleImports | undefined {
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
