/* SPDX-License-Identifier: MIT
 * One thread on each CPU, stamps ordered by compare-and-swap.
 *
 * It goes in short rounds, with rests between: stamps of a round are sorted and judged before the next, so memory is bounded,
 * the run is long enough to see a drift, and the machine is not kept busy all the while. Of stamps in a row of one CPU only
 * the first and the last are kept: those between bound nothing that these do not. Where other work keeps the
 * threads apart it goes on longer, for there is nothing to judge without stamps of two CPUs in turn. */
#include "report/clock_methods.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT = 1 << 14, ROUND_NS = 4000000, LEAST_ROUNDS = 4, WANTED_CHANGES = 2000, IN_A_PART = 200, LONGEST = 6 };

struct shared {
    uint64_t order __attribute__((aligned(128))); /* alone in its line: the one word that all threads fight for */
    uint32_t stop __attribute__((aligned(128)));
    uint32_t over;
    pthread_barrier_t gate;
    const struct wtm_counter *counter;
} __attribute__((aligned(128)));

struct racer {
    struct shared *shared;
    pthread_t thread;
    unsigned index, cpu;
    int is_placed;
    struct wtm_own_stamps own;
    size_t count;
    struct wtm_stamp kept[KEPT];
} __attribute__((aligned(128)));

static void keep(struct racer *racer, uint64_t order, uint64_t ticks)
{
    size_t n = racer->count;
    wtm_own_stamp(&racer->own, ticks);
    if (n > 1 && racer->kept[n - 1].order + 1 == order && racer->kept[n - 2].order + 2 == order)
        n--;
    racer->kept[n] = (struct wtm_stamp){order, ticks};
    racer->count = n + 1;
}

/* Pauses of different lengths after a success let the others in, and mix. */
static void take_stamps(struct racer *racer, struct shared *shared)
{
    unsigned turn = racer->index * 7;
    racer->count = 0;
    while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED) && racer->count < KEPT) {
        uint64_t order = __atomic_load_n(&shared->order, __ATOMIC_ACQUIRE);
        uint64_t ticks = shared->counter->read(shared->counter, racer->index);
        if (!__atomic_compare_exchange_n(&shared->order, &order, order + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        keep(racer, order, ticks);
        for (unsigned wait = turn++ % 13; wait; wait--)
            __asm__ volatile("pause");
    }
}

static void *race(void *argument)
{
    struct racer *racer = argument;
    struct shared *shared = racer->shared;
    size_t bytes = CPU_ALLOC_SIZE(4096);
    cpu_set_t *set = CPU_ALLOC(4096);
    if (set) {
        CPU_ZERO_S(bytes, set);
        CPU_SET_S(racer->cpu, bytes, set);
        racer->is_placed = !sched_setaffinity(0, bytes, set);
        CPU_FREE(set);
    }
    for (;;) {
        pthread_barrier_wait(&shared->gate);
        if (__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE))
            return NULL;
        if (racer->is_placed)
            take_stamps(racer, shared);
        pthread_barrier_wait(&shared->gate);
    }
}

/* Hands the round's stamps over in their order: by merging, as each thread's own rise. */
static void judge_round(struct wtm_clock_judge *judge, struct racer *racers, size_t *at, int part)
{
    unsigned count = judge->cpus;
    memset(at, 0, count * sizeof *at);
    for (;;) {
        struct racer *next = NULL;
        for (unsigned i = 0; i < count; i++)
            if (at[i] < racers[i].count &&
                (!next || racers[i].kept[at[i]].order < next->kept[at[next->index]].order))
                next = &racers[i];
        if (!next)
            return;
        wtm_clock_judge_add(judge, next->kept[at[next->index]++], next->index, part);
    }
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

/* A drift is judged by the first and the last part, so each must have some. */
static int part_at(const struct wtm_clock_judge *judge, uint64_t since, uint64_t time_ns)
{
    if (since < time_ns / 4 || (judge->cpus > 1 && judge->part_changes[0] < IN_A_PART))
        return 0;
    return since < time_ns - time_ns / 4 ? 1 : 2;
}

static int is_too_early(const struct wtm_clock_judge *judge, uint64_t since, uint64_t time_ns)
{
    return judge->cpus > 1 && (judge->changes < WANTED_CHANGES || judge->part_changes[2] < IN_A_PART) &&
           since < LONGEST * time_ns;
}

static void run_rounds(struct wtm_clock_judge *judge, struct shared *shared, struct racer *racers, size_t *at, uint64_t time_ns)
{
    uint64_t begin = wtm_clock_now_ns(CLOCK_MONOTONIC), since = 0;
    for (unsigned round = 0; round < LEAST_ROUNDS || since < time_ns || is_too_early(judge, since, time_ns); round++) {
        int part = part_at(judge, since, time_ns);
        __atomic_store_n(&shared->stop, 0, __ATOMIC_RELEASE);
        pthread_barrier_wait(&shared->gate);
        sleep_until(wtm_clock_now_ns(CLOCK_MONOTONIC) + ROUND_NS);
        __atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
        pthread_barrier_wait(&shared->gate);
        judge_round(judge, racers, at, part);
        since = wtm_clock_now_ns(CLOCK_MONOTONIC) - begin;
        sleep_until(begin + since + ROUND_NS);
    }
    __atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
    pthread_barrier_wait(&shared->gate);
}

static int start(struct shared *shared, struct racer *racers, const struct wtm_cpus *cpus)
{
    if (pthread_barrier_init(&shared->gate, NULL, cpus->count + 1))
        return -1;
    for (unsigned i = 0; i < cpus->count; i++) {
        racers[i].shared = shared;
        racers[i].index = i;
        racers[i].cpu = cpus->numbers[i];
        if (pthread_create(&racers[i].thread, NULL, race, &racers[i]))
            return -1; /* those that wait at the gate end with the process, which ends with this error */
    }
    return 0;
}

int wtm_clock_race(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                   uint64_t time_ns)
{
    static struct shared shared;
    size_t *at = calloc(cpus->count, sizeof *at);
    struct racer *racers = aligned_alloc(128, cpus->count * sizeof *racers);
    if (!at || !racers)
        return -1;
    memset(racers, 0, cpus->count * sizeof *racers);
    memset(&shared, 0, sizeof shared);
    shared.counter = counter;
    if (start(&shared, racers, cpus))
        return -1;
    run_rounds(judge, &shared, racers, at, time_ns);
    unsigned placed = 0;
    for (unsigned i = 0; i < cpus->count; i++) {
        pthread_join(racers[i].thread, NULL);
        wtm_clock_judge_own(judge, &racers[i].own);
        placed += (unsigned)racers[i].is_placed;
    }
    free(racers);
    free(at);
    return placed ? 0 : -1;
}
