#pragma once

__attribute__((noinline)) static int square(int n) { return n * n; }
