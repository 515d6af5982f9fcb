/* SPDX-License-Identifier: MIT
 * What a timed call costs, as a ratio to two bare TSC reads of the same rounds. Each round measures every kind once, in
 * turn, and the medians over the rounds are printed. Costs are differences to the same work with untimed twins.
 *
 * Run with LD_PRELOAD and WTM_TIME=timed_leaf,timed_outer,timed_nested,timed_descend,timed_tail,timed_many; without the
 * library, or disarmed, it shows what then remains. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REAL __attribute__((noipa, used))
#if defined(__clang__)
#undef REAL
#define REAL __attribute__((noinline, used))
#endif
#define IMPURE __asm__ volatile("" ::: "memory")
enum { ROUNDS = 41, CALLS = 20000, DEPTH = 100, KINDS = 16 };

#define TWINS(prefix)                                                                                                  \
    REAL int prefix##_leaf(int n) { IMPURE; return n + 1; }                                                            \
    REAL int prefix##_nested(int n) { IMPURE; return n + 2; }                                                          \
    REAL int prefix##_outer(int n) { int r = prefix##_nested(n); IMPURE; return r + 1; }                               \
    REAL int prefix##_descend(int n) { int r = n ? prefix##_descend(n - 1) : 0; IMPURE; return r + 1; }                \
    REAL int prefix##_tail(int n) { IMPURE; return prefix##_leaf(n); }                                                 \
    REAL int prefix##_many(int n) { for (int i = 0; i < 100; i++) IMPURE; return n; }
TWINS(timed)
TWINS(plain)

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static inline uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static double reads(void)
{
    double start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        uint64_t first = tsc();
        sink += tsc() - first;
    }
    return (now_ns() - start) / CALLS;
}

/* What WTM_ORDER=exit needs at least: the work in between begins after the first reading and ends before the second. */
static double fenced_reads(void)
{
    double start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        uint64_t first = tsc();
        __asm__ volatile("lfence\n\tlfence" : : : "memory");
        sink += tsc() - first;
    }
    return (now_ns() - start) / CALLS;
}

static double per_call(int (*function)(int), int argument, int calls)
{
    double start = now_ns();
    for (int i = 0; i < calls; i++)
        sink += (uint64_t)function(argument);
    return (now_ns() - start) / calls;
}

static double descent(int (*function)(int)) /* ns a level, less the outermost call */
{
    double deep = per_call(function, DEPTH, CALLS / DEPTH), flat = per_call(function, 0, CALLS / DEPTH);
    return (deep - flat) / DEPTH;
}

static void *other_thread(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 1000; i++)
            timed_leaf(i);
    return NULL;
}

static double values[KINDS][ROUNDS];
static const char *names[KINDS];
static int kinds;

static void put(int round, int kind, const char *name, double value)
{
    names[kind] = name;
    values[kind][round] = value;
    if (kind >= kinds)
        kinds = kind + 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void one_round(int round)
{
    put(round, 0, "reads", reads());
    put(round, 1, "call", per_call(timed_leaf, 1, CALLS) - per_call(plain_leaf, 1, CALLS));
    put(round, 2, "nested", per_call(timed_outer, 1, CALLS) - per_call(plain_outer, 1, CALLS));
    put(round, 3, "recursive", descent(timed_descend) - descent(plain_descend));
    put(round, 4, "tail", per_call(timed_tail, 1, CALLS) - per_call(plain_tail, 1, CALLS));
    put(round, 5, "busy", per_call(timed_many, 1, CALLS) - per_call(plain_many, 1, CALLS));
    put(round, 7, "fenced", fenced_reads());
    int stop = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, other_thread, &stop) == 0) {
        put(round, 6, "beside", per_call(timed_leaf, 1, CALLS) - per_call(plain_leaf, 1, CALLS));
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    for (int round = -2; round < ROUNDS; round++)
        one_round(round < 0 ? 0 : round);
    for (int kind = 0; kind < kinds; kind++) {
        qsort(values[kind], ROUNDS, sizeof(double), by_value);
        printf("%s %.3f %.3f %.3f\n", names[kind], values[kind][ROUNDS / 2], values[kind][ROUNDS / 4],
               values[kind][3 * ROUNDS / 4]);
    }
    return 0;
}
