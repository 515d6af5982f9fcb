// SPDX-License-Identifier: MIT
// 42: eight threads, a million calls each, of one function and of one private to each
// time: shared,own0,own1,own2,own3
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls shared=8000000 exactly, own0=own1=own2=own3=2000; recursive 0; no lost and no doubled count, no time below zero
#include "case.h"
#include <pthread.h>
KEEP long shared(long n) { HERE; return n + 1; }
KEEP int own0(int n) { HERE; return n; } KEEP int own1(int n) { HERE; return n + 1; }
KEEP int own2(int n) { HERE; return n + 2; } KEEP int own3(int n) { HERE; return n + 3; }
static int (*own[4])(int) = {own0, own1, own2, own3};
static pthread_barrier_t bar;
static void *body(void *a)
{
    long id = (long)a, s = 0;
    pthread_barrier_wait(&bar);
    for (long i = 0; i < 1000000; i++) { s += shared(i); if (i % 1000 == 0) CHECK(own[id & 3]((int)i) == (int)i + (id & 3)); }
    return (void *)s;
}
int main(void)
{
    pthread_t t[8]; void *r;
    pthread_barrier_init(&bar, NULL, 8);
    for (long i = 0; i < 8; i++) CHECK(!pthread_create(&t[i], NULL, body, (void *)i));
    for (int i = 0; i < 8; i++) CHECK(!pthread_join(t[i], &r) && (long)r == 500000500000L);
    return case_ok();
}
