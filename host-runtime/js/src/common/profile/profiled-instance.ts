/** What threads tell each other of an instance that makes a profile. */

export interface ProfiledInstance {
    /** The recorder's number. */
    number: number;
    memory: WebAssembly.Memory;
    idBase: number;
    functions: number;
    /** When it began, in ticks. */
    begun: number;
    /** What the guest's thread says of it: words of `CONTROL_*`. */
    control: SharedArrayBuffer;
    /** What it says of switches: see `Counts`. */
    switched: SharedArrayBuffer;
    /** And of whose children its calls are: see `ParentReader`. */
    parent: SharedArrayBuffer;
}
