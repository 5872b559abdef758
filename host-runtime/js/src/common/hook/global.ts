/** The global that `register` defines. */

import type { Recorder } from '../recorder/recorder.js';

declare global {
    /** This thread's recorder, under `register`. */
    interface KperfGlobal extends Recorder {}
    /** This thread's recorder. It begins with the first probed module, or when this is read. */
    var kperf: KperfGlobal;
}
