// SPDX-License-Identifier: MIT
// 43: ten thousand short threads, joined and detached: per-thread state is given back
// time: work,body
// build: $CC -O2 -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls work=20000 body=10000 (counts of ended threads kept); memory growth < 64 MB
#include "case.h"
#include <pthread.h>
#include <stdint.h>
static long done;
KEEP long work(long n) { HERE; return n * 2; }
KEEP void *body(void *a) { long r = work((long)a) + work(1); HERE; __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE); return (void *)r; }
int main(void)
{
    pthread_attr_t at; long r0 = 0;
    pthread_attr_init(&at); pthread_attr_setstacksize(&at, 65536);
    for (long i = 0; i < 5000; i++) {
        pthread_t a, b; void *r;
        pthread_attr_setdetachstate(&at, PTHREAD_CREATE_JOINABLE);
        CHECK(!pthread_create(&a, &at, body, (void *)i));
        pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
        CHECK(!pthread_create(&b, &at, body, (void *)i));
        CHECK(!pthread_join(a, &r) && (long)r == 2 * i + 2);
        while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < 2 * i + 2) usleep(20);
        if (i == 500) r0 = case_rss_kb();
    }
    usleep(20000);
    CHECK(case_rss_kb() - r0 < 65536);
    return case_ok();
}
