/** An instance of a module built from Rust, with its input and output as bytes (exports/src/lib.rs). */

interface CommonExports {
    memory: WebAssembly.Memory;
    kperf_input(length: number): number;
    kperf_output(): number;
    kperf_output_length(): number;
}

/** A failed call, with the module's message. */
export class Failure extends Error {}

const FAILED = -1;

/** `Exports` are the functions of this module only; they return a status. */
export class RustModule<Exports> {
    readonly exports: CommonExports & Exports;

    readonly #prefix: string;

    /** `prefix` begins the messages of failures. */
    constructor(instance: WebAssembly.Instance, prefix = '') {
        this.#prefix = prefix;
        this.exports = instance.exports as unknown as CommonExports & Exports;
    }

    /** Calls an export with bytes as its input, and returns its status. Throws a `Failure`. */
    call(work: (length: number) => number, input: Uint8Array): number {
        this.bytes(this.exports.kperf_input(input.length), input.length).set(input);
        return this.check(work(input.length));
    }

    /** Calls an export with a value as JSON. */
    callWith(work: (length: number) => number, input: object): number {
        return this.call(work, new TextEncoder().encode(JSON.stringify(input)));
    }

    /** Returns a status. Throws a `Failure` if it is an error. */
    check(status: number): number {
        if (status === FAILED) throw new Failure(this.#prefix + this.text());
        return status;
    }

    /** The last call's output, valid until the next call. */
    output(): Uint8Array<ArrayBuffer> {
        return this.bytes(this.exports.kperf_output(), this.exports.kperf_output_length());
    }

    text(): string {
        return new TextDecoder().decode(this.output());
    }

    /** A part of the module's memory. */
    bytes(address: number, length: number): Uint8Array<ArrayBuffer> {
        return new Uint8Array(this.exports.memory.buffer as ArrayBuffer, address >>> 0, length);
    }
}
