/** Reads symbol tables of modules, and writes those of JavaScript's spans. guest-shim/src/symbols.rs has the format. */

/** A table's ids and names. */
export interface Symbols {
    idBase: number;
    /** Display names, by `id - idBase`. */
    names: string[];
}

const VERSION = 1;
/** The version of tables with functions that are only counted. */
const VERSION_COUNTED = 2;

/** The ids of a module's functions. */
export interface Ids {
    idBase: number;
    functions: number;
}

/** The ids of a custom section `kperf.symbols`, from its beginning alone: names of 20,000 functions take 40 to 120 ms when a thread begins. */
export function idsOf(bytes: Uint8Array): Ids {
    const input = new Input(unpack(bytes, 15 + new Input(unpack(bytes, 5)).number()));
    input.take(input.number());
    return { idBase: input.number(), functions: input.number() };
}

/** Reads a custom section `kperf.symbols`. Throws a `TypeError` if it is invalid. */
export function readSymbols(bytes: Uint8Array): Symbols {
    const input = new Input(unpack(bytes));
    input.text();
    const idBase = input.number();
    const count = input.number();
    const names: string[] = [];
    for (let n = 0; n < count; n++) {
        input.number();
        input.number();
        const flags = input.byte();
        const name = input.text();
        names.push(flags & 4 ? input.text() : name);
        // The source location: number of the file, and line.
        if (flags & 16) {
            input.number();
            input.number();
        }
    }
    return { idBase, names };
}

/** Of allocator functions that were named, those that none of the modules has. Modules without records of allocations don't count. */
export class MissingAllocators {
    #names: string[] | undefined;

    /** None before the first module. */
    get names(): string[] {
        return this.#names ?? [];
    }

    /** Takes a module's symbol table. */
    add(symbols: Uint8Array): void {
        const { allocations } = JSON.parse(new Input(unpack(symbols)).text()) as { allocations?: { missing?: string[] } };
        if (allocations) this.#names = (allocations.missing ?? []).filter((name) => this.#names?.includes(name) ?? true);
    }
}

/** A table of host functions. */
export function writeSymbols(module: string, idBase: number, names: readonly string[]): Uint8Array {
    const out: number[] = [];
    const text = (text: string): void => {
        const bytes = new TextEncoder().encode(text);
        number(bytes.length);
        out.push(...bytes);
    };
    const number = (value: number): void => pushNumber(out, value);
    text(JSON.stringify({ name: module, functions: 0 }));
    number(idBase);
    number(names.length);
    for (const name of names) {
        // No index, no offset; bit 1: a host function.
        out.push(0, 0, 2);
        text(name);
    }
    return pack(out);
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
    return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Appends a number in LEB128. */
export function pushNumber(out: number[], value: number): void {
    for (; value > 0x7f; value = Math.floor(value / 0x80)) out.push((value % 0x80) | 0x80);
    out.push(value);
}

/** LZ4 without matches: one sequence of literals. */
function pack(content: number[]): Uint8Array {
    const lengths: number[] = [];
    let rest = content.length - 15;
    for (; rest >= 255; rest -= 255) lengths.push(255);
    if (rest >= 0) lengths.push(rest);
    const bytes = Uint8Array.from([VERSION, 0, 0, 0, 0, Math.min(content.length, 15) << 4, ...lengths, ...content]);
    new DataView(bytes.buffer).setUint32(1, content.length, true);
    return bytes;
}

function broken(what: string): TypeError {
    return new TypeError(`kperf: a symbol table ${what}`);
}

/** Unpacks an LZ4 block that follows its length, or its first `most` bytes. */
function unpack(bytes: Uint8Array, most = Infinity): Uint8Array {
    if ((bytes[0] !== VERSION && bytes[0] !== VERSION_COUNTED) || bytes.length < 6) throw broken('has an unknown version');
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(1, true);
    if (length > bytes.length * 256) throw broken('claims more bytes than it can have');
    const out = new Uint8Array(Math.min(length, most));
    const input = new Input(bytes.subarray(5));
    for (let to = 0; length <= most || to < most; ) {
        const token = input.byte();
        const literals = input.take(input.length(token >> 4));
        if (literals.length > length - to) throw broken('does not unpack');
        out.set(literals.subarray(0, out.length - to), to);
        to += literals.length;
        if (input.isAtEnd && to === length) return out;
        const back = input.byte() | (input.byte() << 8);
        const end = to + input.length(token & 15) + 4;
        if (back === 0 || back > to || end > length) throw broken('does not unpack');
        // The match may overlap its own output.
        for (; to < end; to++) out[to] = out[to - back]!;
    }
    return out;
}

class Input {
    #at = 0;
    readonly #bytes: Uint8Array;

    constructor(bytes: Uint8Array) {
        this.#bytes = bytes;
    }

    byte(): number {
        const byte = this.#bytes[this.#at++];
        if (byte === undefined) throw broken('ends too early');
        return byte;
    }

    number(): number {
        let value = 0;
        for (let scale = 1; ; scale *= 0x80) {
            const byte = this.byte();
            value += (byte & 0x7f) * scale;
            if (byte < 0x80) return value;
        }
    }

    text(): string {
        return new TextDecoder().decode(this.take(this.number()));
    }

    take(length: number): Uint8Array {
        const end = this.#at + length;
        if (end > this.#bytes.length) throw broken('ends too early');
        const taken = this.#bytes.subarray(this.#at, end);
        this.#at = end;
        return taken;
    }

    /** An LZ4 length, whose first four bits are `known`. */
    length(known: number): number {
        if (known < 15) return known;
        for (let byte = 255; byte === 255; known += byte) byte = this.byte();
        return known;
    }

    get isAtEnd(): boolean {
        return this.#at === this.#bytes.length;
    }
}
