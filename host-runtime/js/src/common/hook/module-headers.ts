/** Reads a module's section headers. */

import { SYMBOLS_SECTION } from '../constants.js';

const CUSTOM = 0, IMPORT = 2, FUNCTION = 3;

export interface ModuleHeaders {
    /** The number of imports. */
    imports: number;
    /** The number of defined functions. */
    functions: number;
    /** The contents of custom sections, as ranges. */
    custom: { name: string; start: number; end: number }[];
}

/** `undefined` for bytes that aren't a module. Each counted item takes at least a byte. */
export function headersOf(bytes: Uint8Array): ModuleHeaders | undefined {
    const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
    if (!magic.every((byte, at) => bytes[at] === byte)) return undefined;
    const headers: ModuleHeaders = { imports: 0, functions: 0, custom: [] };
    let at = magic.length;
    /** Reads an unsigned LEB128; 0 after the end. */
    const number = (): number => {
        let value = 0;
        for (let scale = 1; ; scale *= 0x80) {
            const byte = bytes[at++] ?? 0;
            value += (byte & 0x7f) * scale;
            if (byte < 0x80) return value;
        }
    };
    while (at < bytes.length) {
        const id = bytes[at++];
        const length = number();
        const end = at + length;
        if (end > bytes.length) return undefined;
        if (id === IMPORT) headers.imports = number();
        if (id === FUNCTION) headers.functions = number();
        if (id === CUSTOM) {
            const nameLength = number();
            const name = new TextDecoder().decode(bytes.subarray(at, at + nameLength));
            headers.custom.push({ name, start: at + nameLength, end });
        }
        if (Math.max(headers.imports, headers.functions) > bytes.length) return undefined;
        at = end;
    }
    return headers;
}

/** A module's symbol table, if it has probes. */
export function symbolsOf(wasm: Uint8Array): Uint8Array | undefined {
    const table = headersOf(wasm)?.custom.find(({ name }) => name === SYMBOLS_SECTION);
    return table && wasm.subarray(table.start, table.end);
}
