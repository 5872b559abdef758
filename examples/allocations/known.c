// A program that knows what it allocates: each function counts for itself, and says it at the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION __attribute__((noinline))

struct account {
    const char *name;
    unsigned long bytes, blocks, freed, left;
};
enum { BOXES, GROWS, ZEROED, LEAKS, ALIGNED, FAILS, ACCOUNTS };
static struct account accounts[ACCOUNTS] = {{"boxes"}, {"grows"}, {"zeroed"}, {"leaks"}, {"aligned"}, {"fails"}};
static void *volatile seen;

static void *given(int account, void *block, unsigned long bytes) {
    accounts[account].bytes += bytes;
    accounts[account].blocks += 1;
    accounts[account].left += bytes;
    seen = block;
    return block;
}

static void gone(int account, unsigned long bytes) {
    accounts[account].freed += bytes;
    accounts[account].left -= bytes;
}

FUNCTION static void boxes(int n) {
    void **all = given(BOXES, malloc(n * sizeof *all), n * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = given(BOXES, malloc(24), 24);
    for (int i = 0; i < n; i++) {
        free(all[i]);
        gone(BOXES, 24);
    }
    free(all);
    gone(BOXES, n * sizeof *all);
}

FUNCTION static void from_a(void) { boxes(1000); seen = 0; }
FUNCTION static void from_b(void) { boxes(300); seen = 0; }

FUNCTION static void grows(void) {
    char *p = NULL;
    unsigned long before = 0;
    for (unsigned long n = 32; n <= 65536; n *= 2) {
        p = given(GROWS, realloc(p, n), n);
        if (before) gone(GROWS, before);
        before = n;
    }
    free(p);
    gone(GROWS, before);
}

FUNCTION static void zeroed(void) {
    free(given(ZEROED, calloc(1024, 1024), 1024 * 1024));
    gone(ZEROED, 1024 * 1024);
    free(NULL);
}

FUNCTION static void leaks(void) {
    for (int i = 0; i < 5; i++) given(LEAKS, malloc(1000), 1000);
}

FUNCTION static void aligned(void) {
    void *p;
    free(given(ALIGNED, aligned_alloc(64, 640), 640));
    gone(ALIGNED, 640);
    if (posix_memalign(&p, 128, 1280) == 0) {
        free(given(ALIGNED, p, 1280));
        gone(ALIGNED, 1280);
    }
}

FUNCTION static void fails(void) {
    seen = malloc(3000000000u);
    char *p = given(FAILS, malloc(50), 50);
    seen = realloc(p, 3000000000u);
    seen = p;
}

int main(void) {
    from_a();
    from_b();
    grows();
    zeroed();
    leaks();
    aligned();
    fails();
    for (int i = 0; i < ACCOUNTS; i++)
        printf("%s %lu %lu %lu %lu\n", accounts[i].name, accounts[i].bytes, accounts[i].blocks, accounts[i].freed, accounts[i].left);
    return 0;
}
