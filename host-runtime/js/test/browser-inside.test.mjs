// Tests in browsers once more, with inlined probes.
import { effort } from './support/effort.mjs';
process.env.KPERF_TEST_PROBE = 'inline';
const others = effort([], ['browser-same-calls', 'browser-suspension', 'browser-workers', 'browser-firefox']);
for (const tests of ['golden', 'browser', ...others]) await import(`./${tests}.test.mjs`);
