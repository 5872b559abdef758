/** The cases of a test: few of them, or all with KPERF_TESTS=all. */
export const effort = (few, all) => (process.env.KPERF_TESTS === 'all' ? all : few);
