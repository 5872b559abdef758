/** Probes that do nothing, for probed modules that nothing records. */

import { CLOCK_OFF, HOST_MODULE, MODULE } from '../constants.js';
import { Lanes } from '../recorder/lanes.js';
import { importsWith } from '../recorder/imports.js';

export const IDLE_PROBES: WebAssembly.ModuleImports = {
    enter: () => 0, leave() {}, unwind() {}, depth: () => 0, close() {}, allocating() {}, allocated() {}, grew() {}, created() {},
    instructions: new WebAssembly.Global({ value: 'i64', mutable: true }, 0n),
};
/** An inlined recorder drops events while its clock is off. */
const IDLE_HOST: WebAssembly.ModuleImports = { now: () => CLOCK_OFF, flush() {} };

/** The program's imports with such probes. */
export function idleImports(imports: WebAssembly.Imports | undefined, module: WebAssembly.Module): WebAssembly.Imports {
    return importsWith(module, imports, { [MODULE]: IDLE_PROBES, [HOST_MODULE]: IDLE_HOST }, new Lanes(), () => undefined);
}
