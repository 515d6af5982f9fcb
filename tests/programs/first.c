/* SPDX-License-Identifier: MIT
 * Eight threads on one processor, each of which calls a thousand functions for the first time: most of what they do is the
 * library's own work, and they wait for each other in the midst of it. Prints the CPU time of all `outer` together, in ns. */
#define _GNU_SOURCE
#include "target.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 8 };

#define ONE(n)  long f_##n(long x); REAL long f_##n(long x) { IMPURE; return x + 1; }
#define TEN(n)  ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define ALL HUNDRED(0) HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9)
ALL

#undef ONE
#define ONE(n) f_##n,
static long (*const all[])(long) = {ALL};

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
