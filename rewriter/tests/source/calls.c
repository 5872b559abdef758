// Calls of each kind: one of a function, two of another, one through a table.
typedef int (*Function)(int);
volatile int n;

__attribute__((noinline)) static int once(int a) {
    return a + n;
}

__attribute__((noinline)) static int twice(int a) {
    return a * n;
}

__attribute__((noinline)) static int through(int a) {
    return a - n;
}

volatile Function function = through;

void _start(void) {
    n = once(1);
    n = twice(2);
    n = twice(3);
    n = function(4);
}
