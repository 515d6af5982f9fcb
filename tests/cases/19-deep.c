// SPDX-License-Identifier: MIT
// 19: a million nested activations on a big thread stack
// time: deep
// build: $CC -O1 -fno-optimize-sibling-calls -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls deep=2000002 recursive=2000000 (two rounds); no activation lost at any depth
#include "case.h"
#include <pthread.h>
KEEP long deep(long n) { long r = n ? deep(n - 1) : 0; HERE; return r + 1; }
static void *body(void *a) { long n = (long)a; return deep(n) == n + 1 && deep(n) == n + 1 ? a : NULL; }
int main(void)
{
    pthread_attr_t at; pthread_t t; void *r;
    pthread_attr_init(&at);
    CHECK(pthread_attr_setstacksize(&at, 512L << 20) == 0);
    CHECK(pthread_create(&t, &at, body, (void *)1000000L) == 0);
    CHECK(pthread_join(t, &r) == 0 && r);
    return case_ok();
}
