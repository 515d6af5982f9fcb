// SPDX-License-Identifier: MIT
// 40: timing the allocator while the tool itself may need memory: from constructors, threads, handlers of exit, first call of a thread
// time: malloc,calloc,realloc,free,posix_memalign
// build: $CC -O2 -fno-builtin -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls malloc>=80001 realloc>=80000 free>=160000 calloc>=80000 posix_memalign>=8; no recursion without end, no deadlock, and the recursive count stays 0 for malloc (glibc does not nest it)
#include "case.h"
#include <pthread.h>
#include <string.h>
static void *early;
__attribute__((constructor(101))) static void ctor(void) { early = malloc(123); memset(early, 7, 123); }
static void last(void) { free(malloc(5)); }
static void *body(void *a)
{
    void *q = NULL;
    CHECK(!posix_memalign(&q, 4096, 100)); free(q);
    for (int i = 0; i < 10000; i++) {
        char *m = malloc((size_t)(i % 2000) + 1), *c = calloc(1, (size_t)(i % 500) + 1);
        CHECK(m && c && c[i % 500] == 0);
        m[0] = (char)i;
        m = realloc(m, 4000); CHECK(m && m[0] == (char)i);
        free(m); free(c);
    }
    return a;
}
int main(void)
{
    pthread_t t[8];
    CHECK(early && ((char *)early)[122] == 7);
    atexit(last);
    for (int i = 0; i < 8; i++) CHECK(!pthread_create(&t[i], NULL, body, NULL));
    for (int i = 0; i < 8; i++) CHECK(!pthread_join(t[i], NULL));
    free(early);
    return case_ok();
}
