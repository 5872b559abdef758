/** A profiled instance, as its thread shares it with the sampler's. */

export interface ProfiledInstance {
    /** The recorder's number. */
    number: number;
    memory: WebAssembly.Memory;
    idBase: number;
    functions: number;
    /** The time of its beginning, in ticks. */
    begun: number;
    /** Words of `CONTROL_*`. */
    control: SharedArrayBuffer;
    /** See `Counts`. */
    switched: SharedArrayBuffer;
    /** See `ParentReader`. */
    parent: SharedArrayBuffer;
}
