// Calls that last until the sampler has seen them.
import { getEnvironmentData } from 'node:worker_threads';

/** The word that requests a sample now, and that the sampler resets. */
const WAKE = 2;
const PATIENCE = 60_000;

/** Returns when the sampler has begun this number of samples. */
function untilItLooks(words, times) {
    const deadline = performance.now() + PATIENCE;
    for (let n = 0; n < times; n++) {
        Atomics.store(words, WAKE, 1);
        Atomics.notify(words, WAKE);
        while (Atomics.load(words, WAKE) === 1) if (performance.now() > deadline) throw new Error('nobody samples');
    }
}

/** Takes at least `milliseconds`, with samples of the open calls before and after. */
function slowlyUnder(words, milliseconds) {
    // When it begins to look for the first time it may not have heard of the instance; with the third it has seen the
    // calls.
    untilItLooks(words, 3);
    for (const until = performance.now() + milliseconds; performance.now() < until;);
    untilItLooks(words, 2);
}

/** The same in threads of a recording process. */
export function slowly(milliseconds) {
    slowlyUnder(new Int32Array(getEnvironmentData('kperf-wasm').sampler), milliseconds);
}

/** A script that defines `slowly` in a page, if it precedes the recorder. */
export const SLOWLY = `<script>{
    const [WAKE, PATIENCE] = [${WAKE}, ${PATIENCE}];
    ${untilItLooks}
    ${slowlyUnder}
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (message, ...rest) {
        if (message?.sampling) globalThis.slowly = (milliseconds) => slowlyUnder(new Int32Array(message.control),
            milliseconds);
        return postMessage.call(this, message, ...rest);
    };
}</script>`;
