/**
 * What `kperf.js` puts into the worklets of a page: there is no time, no request and no thread, so nothing can be recorded. Modules
 * with probes that the page hands over get probes that do nothing. scripts/build.mjs makes one file of it, `worklet.js`.
 */

import { hook } from '../common/hook/hook.js';

hook({ recorder: () => undefined, warn: () => undefined });
