/* SPDX-License-Identifier: MIT
 * Eight threads on one processor, each of which calls a thousand functions for the first time: most of what they do is the
 * library's own work, and they wait for each other in the midst of it. Prints the CPU time of all `outer` together, in ns. */
#define _GNU_SOURCE
#include "thousand.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 8 };

static pthread_barrier_t barrier;

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

long outer(long x);
REAL long outer(long x)
{
    for (int i = 0; i < 1000; i++)
        x = all[i](x);
    return x;
}

static void *work(void *spent)
{
    pthread_barrier_wait(&barrier);
    long long begin = cpu_ns();
    long result = outer(0);
    *(long long *)spent = cpu_ns() - begin;
    return result == 1000 ? spent : NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    long long spent[THREADS] = {0}, sum = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &spent[i]))
            return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += spent[i];
    }
    printf("%lld\n", sum);
    return 0;
}
