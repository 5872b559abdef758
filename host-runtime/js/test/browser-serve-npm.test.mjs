// The package's own server does what that of the command of Rust does.
process.env.KPERF_TEST_SERVE = 'npm';
await import('./browser-serve.test.mjs');
