// Functions in two files: what the debug information of C says of them.
#include "square.h"

__attribute__((noinline)) static int
sum(int n) { return n ? square(n) + sum(n - 1) : 0; }

__attribute__((export_name("sums"))) int sums(int n) { return sum(n) + sum(n / 2); }
