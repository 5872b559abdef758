// Tests once more, with modules that have their recorder inside.
process.env.KPERF_TEST_PROBE = 'inline';
const { hasMultiMemory } = await import('./support/cli.mjs');
// Some have programs with a memory of their own.
for (const tests of ['recorder', 'golden', ...(hasMultiMemory ? ['register', 'toolchains', 'otlp'] : [])]) await import(`./${tests}.test.mjs`);
