// Tests in browsers once more, with modules that have their recorder inside.
process.env.KPERF_TEST_PROBE = 'inline';
for (const tests of ['golden', 'browser', 'browser-same-calls', 'browser-suspension', 'browser-workers', 'browser-firefox']) await import(`./${tests}.test.mjs`);
