/** How much of a test runs: a small part always, all of it with KPERF_TESTS=all. */
export const effort = (few, all) => (process.env.KPERF_TESTS === 'all' ? all : few);
