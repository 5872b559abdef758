/** Warnings in the console. */

import { warner } from '../common/warn.js';

export const warn = warner((line) => console.warn(line));
