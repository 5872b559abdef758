/** What a module with probes gets where nobody records it: probes that do nothing. */

import { CLOCK_OFF, HOST_MODULE, MODULE } from '../constants.js';
import { Lanes } from '../recorder/lanes.js';
import { importsWith } from '../recorder/imports.js';

/** Probes that do nothing. */
export const IDLE_PROBES: WebAssembly.ModuleImports = {
    enter: () => 0, leave() {}, unwind() {}, depth: () => 0, close() {}, allocating() {}, allocated() {}, grew() {}, created() {},
    instructions: new WebAssembly.Global({ value: 'i64', mutable: true }, 0n),
};
/** A recorder inside a module whose clock is off keeps nothing. */
const IDLE_HOST: WebAssembly.ModuleImports = { now: () => CLOCK_OFF, flush() {} };

/** What the program supplies, with such probes. */
export function idleImports(imports: WebAssembly.Imports | undefined, module: WebAssembly.Module): WebAssembly.Imports {
    return importsWith(module, imports, { [MODULE]: IDLE_PROBES, [HOST_MODULE]: IDLE_HOST }, new Lanes(), () => undefined);
}
