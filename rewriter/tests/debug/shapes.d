module shapes;

extern (C) void show(int);

private int clamp(int value, int low, int high) {
    if (value < low)
        return low;
    return value > high ? high : value;
}

pragma(inline, false) T area(T)(const(T)* sides, uint count) {
    T sum = 0;
    foreach (n; 0 .. count) {
        auto side = clamp(sides[n], 1, 100);
        if (side == 50)
            show(side);
        sum += side * side;
    }
    return sum;
}

pragma(inline, false) int fib(int n) {
    if (n < 2)
        return n;
    int before = fib(n - 1);
    int last = fib(n - 2);
    return before + last;
}

extern (C) export int run(int n) {
    int[8] sides = void;
    foreach (i; 0 .. 8)
        sides[i] = clamp(i * n, 2, 60);
    switch (n & 3) {
    case 0:
        return area!int(sides.ptr, 8);
    case 1:
        show(n);
        return fib(n);
    default:
        return area!int(sides.ptr, 4) + fib(n % 10);
    }
}
