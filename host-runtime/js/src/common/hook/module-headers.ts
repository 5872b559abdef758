/** What can be told of a module by its sections' heads. */

const IMPORT = 2;
const FUNCTION = 3;
const CUSTOM = 0;

export interface ModuleHeaders {
    /** How many things it imports. */
    imports: number;
    /** How many functions it defines. */
    functions: number;
    /** Where the contents of its custom sections are. */
    custom: { name: string; start: number; end: number }[];
}

/** The headers of a module; `undefined` for bytes that are none. What they count takes at least a byte each. */
export function headersOf(bytes: Uint8Array): ModuleHeaders | undefined {
    const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
    if (!magic.every((byte, at) => bytes[at] === byte)) return undefined;
    const headers: ModuleHeaders = { imports: 0, functions: 0, custom: [] };
    let at = magic.length;
    /** An unsigned LEB128. Behind the end there are zeros. */
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
