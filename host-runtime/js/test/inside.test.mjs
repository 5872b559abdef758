// Tests once more, with inlined probes.
process.env.KPERF_TEST_PROBE = 'inline';
const { hasMultiMemory } = await import('./support/cli.mjs');
const { effort } = await import('./support/effort.mjs');
// Some have programs with a memory of their own.
const others = hasMultiMemory ? ['register', ...effort([], ['toolchains', 'otlp'])] : [];
for (const tests of ['recorder', 'golden', ...others]) await import(`./${tests}.test.mjs`);
