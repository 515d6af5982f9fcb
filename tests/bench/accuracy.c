/* SPDX-License-Identifier: MIT
 * How true the means are. Each function has an untimed twin of the same code and alignment; the truth is one pair of clock
 * readings around a whole loop of calls of the twin, less nothing. Twin and timed function take turns, round by round; the
 * error is the median of the rounds' differences, so that a machine that changes its speed does not matter.
 *
 * accuracy.sh runs it under the library with WTM_TIME='main:timed_*'. A line per case: name, truth, mean, error, its quartiles,
 * what is allowed, cost of a call, all in ns. Allowed: 2 ns or 1 % for the function itself, and 3 ns for each timed child. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "preload/wtmtime.h"

#define REAL __attribute__((noinline, noclone, used, aligned(64)))
#define IMPURE __asm__ volatile("" ::: "memory")
enum { ROUNDS = 31 };

/* Each step waits for the one before: some 1.5 ns. */
static inline __attribute__((always_inline)) uint64_t chain(uint64_t x, int steps)
{
    for (int i = 0; i < steps; i++) {
        x = x * 0x9e3779b97f4a7c15u + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Work whose result nobody waits for: it is still in flight when the function returns. */
static volatile double results[8];
static inline __attribute__((always_inline)) void in_flight(int divisions)
{
    double x = results[0] + 1.5;
    for (int i = 0; i < divisions; i++) {
        x = 3.7 / x;
        __asm__ volatile("" : "+x"(x));
    }
    results[1] = x;
}

#define PARENT(prefix, count)                                                                                          \
    REAL uint64_t prefix##_parent_##count(uint64_t n)                                                                  \
    {                                                                                                                  \
        n = chain(n, 4);                                                                                               \
        for (int i = 0; i < count; i++)                                                                                \
            n += prefix##_child(n);                                                                                    \
        return n;                                                                                                      \
    }
#define TWINS(prefix)                                                                                                  \
    REAL uint64_t prefix##_empty(uint64_t n) { IMPURE; return n + 1; }                                                 \
    REAL uint64_t prefix##_10ns(uint64_t n) { return chain(n, 6); }                                                    \
    REAL uint64_t prefix##_100ns(uint64_t n) { return chain(n, 66); }                                                  \
    REAL uint64_t prefix##_1us(uint64_t n) { return chain(n, 666); }                                                   \
    REAL uint64_t prefix##_1ms(uint64_t n) { return chain(n, 666666); }                                                \
    REAL uint64_t prefix##_unawaited(uint64_t n) { in_flight(6); return n + 1; }                                       \
    REAL uint64_t prefix##_child(uint64_t n) { return chain(n, 3); }                                                   \
    REAL uint64_t prefix##_descend(uint64_t n) { uint64_t r = (n & 3) != 3 ? prefix##_descend(n + 1) : n; IMPURE; return r; } \
    PARENT(prefix, 0) PARENT(prefix, 1) PARENT(prefix, 10) PARENT(prefix, 1000)                                        \
    REAL uint64_t prefix##_over_recursion(uint64_t n)                                                                  \
    {                                                                                                                  \
        for (int i = 0; i < 10; i++)                                                                                   \
            n += prefix##_descend(i & ~3);                                                                             \
        return n;                                                                                                      \
    }
TWINS(timed)
TWINS(plain)
REAL uint64_t timed_elsewhere(uint64_t n) { return chain(n, 30); }

/* `children`: timed calls below one call, the recursive ones among them. */
static const struct subject {
    const char *name, *label;
    uint64_t (*timed)(uint64_t), (*plain)(uint64_t);
    int calls, children, beside;
} subjects[] = {
#define ONE(function, label, calls, children, beside)                                                                  \
    {"timed_" #function, label, timed_##function, plain_##function, calls, children, beside},
    ONE(empty, "an empty function", 20000, 0, 0)
    ONE(10ns, "10 ns", 20000, 0, 0)
    ONE(100ns, "100 ns", 10000, 0, 0)
    ONE(1us, "1 us", 3000, 0, 0)
    ONE(1ms, "1 ms", 5, 0, 0)
    ONE(unawaited, "its last work not awaited", 10000, 0, 0)
    ONE(parent_0, "a parent of 0 children", 20000, 0, 0)
    ONE(parent_1, "of 1", 10000, 1, 0)
    ONE(parent_10, "of 10", 3000, 10, 0)
    ONE(parent_1000, "of 1000", 30, 1000, 0)
    ONE(over_recursion, "of 10, each 3 deep", 2000, 40, 0)
    ONE(100ns, "100 ns, a second thread timed", 10000, 0, 1)
    ONE(parent_10, "of 10, a second thread timed", 3000, 10, 1)
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };
static double truth[SUBJECTS][ROUNDS], mean[SUBJECTS][ROUNDS], error[SUBJECTS][ROUNDS], cost[SUBJECTS][ROUNDS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static double per_call(uint64_t (*function)(uint64_t), int calls)
{
    uint64_t value = sink;
    double start = now_ns();
    for (int i = 0; i < calls; i++)
        value = function(value);
    double end = now_ns();
    sink = value;
    return (end - start) / calls;
}

static void *elsewhere(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        for (uint64_t i = 0; i < 1000; i++)
            timed_elsewhere(i);
    return NULL;
}

static void one(int s, int round)
{
    const struct subject *subject = &subjects[s];
    struct wtmtime_function got;
    double plain = per_call(subject->plain, subject->calls);
    wtmtime_reset();
    double timed = per_call(subject->timed, subject->calls);
    memset(&got, 0, sizeof got);
    if (wtmtime_get(subject->name, &got) || got.realtime.calls != (uint64_t)subject->calls) {
        fprintf(stderr, "accuracy: %s: %llu calls counted, not %d\n", subject->name, (unsigned long long)got.realtime.calls,
                subject->calls);
        exit(1);
    }
    truth[s][round] = plain;
    mean[s][round] = got.realtime.mean_ns;
    error[s][round] = got.realtime.mean_ns - plain;
    cost[s][round] = timed - plain;
}

static void all(int round)
{
    for (int s = 0; s < SUBJECTS; s++) {
        pthread_t thread;
        int stop = 0, beside = subjects[s].beside && !pthread_create(&thread, NULL, elsewhere, &stop);
        one(s, round);
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        if (beside)
            pthread_join(thread, NULL);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int quarter)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[quarter * (ROUNDS - 1) / 4];
}

int main(void)
{
    if (!wtmtime_present()) {
        fprintf(stderr, "accuracy: run it under the library, see accuracy.sh\n");
        return 2;
    }
    for (int round = -1; round < ROUNDS; round++)
        all(round < 0 ? 0 : round);
    for (int s = 0; s < SUBJECTS; s++) {
        double right = quantile(truth[s], 2), own = right / 100 > 2 ? right / 100 : 2;
        printf("%s|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f\n", subjects[s].label, right, quantile(mean[s], 2),
               quantile(error[s], 2), quantile(error[s], 1), quantile(error[s], 3), own + 3 * subjects[s].children,
               quantile(cost[s], 2));
    }
    return 0;
}
