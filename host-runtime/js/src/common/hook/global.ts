/** What `register` puts into the global scope. */

import type { Recorder } from '../recorder/recorder.js';

declare global {
    /** What is recorded of this thread, under `register`. */
    interface KperfGlobal extends Recorder {}
    /** The recording of this thread; it begins with the first module with probes, or when this is asked for. */
    var kperf: KperfGlobal;
}
