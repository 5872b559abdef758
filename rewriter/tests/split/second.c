static inline int twice(int x) { return x * 2; }
__attribute__((noinline)) int leaf(int x) { return x + 1; }
int other(int x) { return leaf(twice(x)); }
