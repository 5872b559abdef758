// Traps two calls deep, in a function that is not inlined.
__attribute__((noinline)) static int inner(const int *values, int n) {
    if (n == 3)
        __builtin_trap();
    return values[n];
}

__attribute__((noinline)) static int outer(int n) {
    int values[3] = {1, n, 2};
    int sum = 0;
    for (int i = 0; i <= n; i++)
        sum += inner(values, i);
    return sum;
}

int run(int n) {
    int sum = outer(n);
    return sum + 1;
}
