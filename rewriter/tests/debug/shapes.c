// Small, with what compilers say most of in DWARF: inlined calls, loops, variables that move, functions in other sections.
typedef unsigned size;
static int clamp(int value, int low, int high) {
    if (value < low)
        return low;
    return value > high ? high : value;
}

__attribute__((import_module("env"), import_name("show"))) extern void show(int);

__attribute__((noinline)) int area(const int *sides, size count) {
    int sum = 0;
    for (size n = 0; n < count; n++) {
        int side = clamp(sides[n], 1, 100);
        if (side == 50)
            show(side);
        sum += side * side;
    }
    return sum;
}

__attribute__((noinline)) int fib(int n) {
    if (n < 2)
        return n;
    int before = fib(n - 1);
    int last = fib(n - 2);
    return before + last;
}

static int unused(int n) { return n + 1; }

int run(int n) {
    int sides[8];
    for (int i = 0; i < 8; i++)
        sides[i] = clamp(i * n, 2, 60);
    switch (n & 3) {
    case 0:
        return area(sides, 8);
    case 1:
        show(n);
        return fib(n);
    default:
        return area(sides, 4) + fib(n % 10);
    }
}
