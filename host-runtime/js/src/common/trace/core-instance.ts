/** An instance of the core: what it exports (core/src/exports.rs), and how it takes and gives bytes. */

interface CoreExports {
    memory: WebAssembly.Memory;
    kperf_input(length: number): number;
    kperf_open(length: number): number;
    kperf_push(length: number): number;
    kperf_end(): number;
    kperf_next(): number;
    kperf_partial(): number;
    kperf_spans(): number;
    kperf_account(): number;
    kperf_report(compensate: number): number;
    kperf_tree(): number;
    kperf_encode(length: number): number;
    kperf_output(): number;
    kperf_output_length(): number;
}

const FAILED = -1;

export class CoreInstance {
    readonly exports: CoreExports;

    constructor(instance: WebAssembly.Instance) {
        this.exports = instance.exports as unknown as CoreExports;
    }

    /** Gives it bytes, which the next call is about. */
    put(bytes: Uint8Array): void {
        const at = this.exports.kperf_input(bytes.length);
        new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    }

    /** Throws what it says where a call has failed. */
    check(status: number): number {
        if (status === FAILED) throw new Error(`kperf: ${this.text()}`);
        return status;
    }

    /** What the last call gave, until the next. */
    output(): Uint8Array<ArrayBuffer> {
        const { memory, kperf_output, kperf_output_length } = this.exports;
        return new Uint8Array(memory.buffer as ArrayBuffer, kperf_output(), kperf_output_length());
    }

    text(): string {
        return new TextDecoder().decode(this.output());
    }
}
