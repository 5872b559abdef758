/** What the user is told. */

import { teller } from '../common/warn.js';

export const tell = teller((line) => void process.stderr.write(`${line}\n`));
