/** Warnings on stderr. */

import { warner } from '../common/warn.js';

export const warn = warner((line) => void process.stderr.write(`${line}\n`));
