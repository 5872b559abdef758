// A function that takes its time on two lines.
volatile double n = 1;

__attribute__((noinline)) static double hot(int count) {
    double sum = 0;
    for (int i = 1; i <= count; i++) {
        sum += n / ((double)i * i);
    }
    return sum;
}

void _start(void) {
    n = hot(50000000);
}
