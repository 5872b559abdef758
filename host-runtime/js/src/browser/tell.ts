/** What the user is told. */

import { teller } from '../common/tell.js';

export const tell = teller((line) => console.warn(line));
