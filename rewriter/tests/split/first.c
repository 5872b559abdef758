int other(int);
static inline int inner(int x) { return x * 3 + other(x); }
static inline int outer(int x) {
    return inner(x) + 1;
}
__attribute__((noinline)) int hot(int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += outer(i);
    return s;
}
void _start(void) { volatile int r = hot(10); (void)r; }
