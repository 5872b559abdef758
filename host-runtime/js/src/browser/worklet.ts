/**
 * Lets a page's worklets run probed modules, unrecorded: a worklet has no clock, no requests and no threads. scripts/build.mjs bundles it as
 * `worklet.js`.
 */

import { hook } from '../common/hook/hook.js';

hook({ recorder: () => undefined, warn: () => undefined });
