// setjmp and longjmp: out of nested calls, again and again, past a setjmp of its own.
#include <setjmp.h>
#include <stdio.h>

#define PLAIN __attribute__((noinline))

jmp_buf outer, inner;
volatile int sink;

PLAIN void after(void) { sink = 1; }
PLAIN void jumps(jmp_buf *where, int value) { longjmp(*where, value); }
PLAIN void between(int depth, jmp_buf *where, int value) {
  if (depth == 0) jumps(where, value);
  between(depth - 1, where, value);
  after();
}
PLAIN int sets_inner(int value) {
  int came = setjmp(inner);
  if (came == 0) {
    between(1, value == 1 ? &inner : &outer, value);
  }
  after();
  return came;
}
PLAIN int sets_outer(void) {
  volatile int times = 0;
  int came = setjmp(outer);
  times += 1;
  if (times < 3) between(times, &outer, times);
  after();
  if (came == 2) sets_inner(3);
  return came;
}

int main(void) {
  printf("%d\n", sets_inner(1));
  after();
  printf("%d\n", sets_outer());
  after();
}
