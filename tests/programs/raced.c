/* SPDX-License-Identifier: MIT
 * Four threads add N times each to a sum under a mutex, and, when asked to, to one that nothing protects. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "target.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long orderly, raced;
static int racing;

REAL long step(long n) { IMPURE; return n + 1; }
REAL void add(long n)
{
    pthread_mutex_lock(&mutex);
    orderly += step(n);
    pthread_mutex_unlock(&mutex);
    IMPURE;
}
REAL void race(void)
{
    volatile long own = 1; /* the first instructions of a timed function are elsewhere, without a name for valgrind */
    own = own + 1;
    raced = raced + own;
    IMPURE;
}

static void *body(void *arg)
{
    for (long i = 0; i < (long)arg; i++) {
        add(i);
        if (racing)
            race();
        free(malloc((size_t)(i + 1)));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    long n = atol(argv[1]);
    racing = argc > 2;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, body, (void *)n))
            return 2;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", orderly);
    return 0;
}
