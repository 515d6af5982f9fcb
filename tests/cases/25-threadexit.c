// SPDX-License-Identifier: MIT
// 25: pthread_exit and pthread_cancel inside timed functions, with cleanup handlers
// time: leaver,deep_leaver,sleeper,cleanup
// build: $CC -O2 -fno-optimize-sibling-calls -o $OUT $SRC -pthread
// run: $OUT
// expect: exit 0, prints "ok"; calls leaver=100 deep_leaver=100 sleeper=100 all abnormal; cleanup=200 abnormal 0; join values arrive; recursive 0
#include "case.h"
#include <pthread.h>
#include <semaphore.h>
static int cleaned; static sem_t in;
KEEP void cleanup(void *p) { HERE; __atomic_add_fetch((int *)p, 1, __ATOMIC_RELAXED); }
KEEP void leaver(void *v) { HERE; pthread_exit(v); }
KEEP void deep_leaver(void *v) { pthread_cleanup_push(cleanup, &cleaned); leaver(v); pthread_cleanup_pop(0); HERE; }
KEEP void sleeper(void) { pthread_cleanup_push(cleanup, &cleaned); sem_post(&in); for (;;) pause(); pthread_cleanup_pop(0); }
static void *run_exit(void *v) { deep_leaver(v); return NULL; }
static void *run_cancel(void *v) { (void)v; sleeper(); return NULL; }
int main(void)
{
    sem_init(&in, 0, 0);
    for (long i = 1; i <= 100; i++) {
        pthread_t t; void *r;
        CHECK(!pthread_create(&t, NULL, run_exit, (void *)i) && !pthread_join(t, &r) && r == (void *)i);
        CHECK(!pthread_create(&t, NULL, run_cancel, NULL));
        sem_wait(&in);
        CHECK(!pthread_cancel(t) && !pthread_join(t, &r) && r == PTHREAD_CANCELED);
    }
    CHECK(cleaned == 200);
    return case_ok();
}
