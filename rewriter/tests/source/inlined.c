// Calls that are inlined in one another, with calls in them that are not.
volatile int n;

__attribute__((noinline)) static int leaf(int a) {
    return a + n;
}

static inline __attribute__((always_inline)) int inner(int a) {
    int sum = leaf(a);
    return sum * n;
}

static inline __attribute__((always_inline)) int outer(int a) {
    int sum = inner(a);
    return sum + leaf(a + 1);
}

static inline __attribute__((always_inline)) double term(int count) {
    double sum = 0;
    for (int i = 1; i <= count; i++) {
        sum += n / ((double)i * i);
    }
    return sum;
}

__attribute__((noinline)) static int hot(int count) {
    return (int)term(count);
}

void _start(void) {
    n = 1;
    n = outer(3);
    n = hot(50000000);
}
