// C++ exceptions: through frames, caught halfway, thrown again, from a destructor's frame, by a callback.
#include <cstdio>
#include <stdexcept>

#define PLAIN extern "C" __attribute__((noinline))

volatile int sink;

struct Guard {
  __attribute__((noinline)) ~Guard() { sink = 1; }
};

PLAIN void after() { sink = 2; }
PLAIN void throws(int n) {
  if (n > 0) throw std::runtime_error("thrown");
  throw n;
}
PLAIN void between(int n) {
  Guard guard;
  throws(n);
  after();
}
PLAIN void rethrows(int n) {
  try {
    between(n);
  } catch (const std::exception &) {
    after();
    throw;
  }
}
PLAIN int catches(int n) {
  try {
    rethrows(n);
  } catch (const std::exception &error) {
    after();
    return 1;
  } catch (int) {
    return 2;
  }
  return 3;
}
PLAIN void catches_own() {
  try {
    throw 1;
  } catch (...) {
    after();
  }
}
PLAIN void quiet(int) { after(); }
PLAIN void calls(void (*callback)(int), int n) {
  try {
    callback(n);
  } catch (...) {
    return;
  }
  after();
}

int main() {
  printf("%d\n", catches(1));
  after();
  printf("%d\n", catches(0));
  catches_own();
  calls(quiet, 1);
  calls(between, 1);
  after();
}
