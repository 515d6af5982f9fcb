/* SPDX-License-Identifier: MIT
 * One thread on all CPUs in turn. */
#include "report/clock_methods.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t wtm_clock_now_ns(int clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static cpu_set_t *new_set(size_t *bytes)
{
    *bytes = CPU_ALLOC_SIZE(4096);
    return CPU_ALLOC(4096);
}

int wtm_cpus_allowed(struct wtm_cpus *cpus)
{
    size_t bytes;
    cpu_set_t *set = new_set(&bytes);
    cpus->count = 0;
    if (!set || sched_getaffinity(0, bytes, set)) {
        CPU_FREE(set);
        return -1;
    }
    for (unsigned i = 0; i < 4096 && cpus->count < sizeof cpus->numbers / sizeof *cpus->numbers; i++)
        if (CPU_ISSET_S(i, bytes, set))
            cpus->numbers[cpus->count++] = i;
    CPU_FREE(set);
    return cpus->count ? 0 : -1;
}

static int move(unsigned cpu, cpu_set_t *set, size_t bytes)
{
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    return sched_setaffinity(0, bytes, set);
}

/* Two stamps on each CPU: the first is near the move before, the second near the one that follows. Parts of the run are by
 * time; each is at least a round. */
static int go_round(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                    uint64_t time_ns, cpu_set_t *set, size_t bytes)
{
    uint64_t order = 0, begin = wtm_clock_now_ns(CLOCK_MONOTONIC), since = 0;
    struct wtm_own_stamps *own = calloc(cpus->count, sizeof *own);
    if (!own)
        return -1;
    for (int round = 0; round < 4 || since < time_ns; round++) {
        int part = since < time_ns / 4 ? 0 : since < time_ns - time_ns / 4 ? 1 : 2;
        for (unsigned i = 0; i < cpus->count; i++) {
            if (cpus->count > 1 && move(cpus->numbers[i], set, bytes))
                continue; /* taken off line meanwhile */
            for (int twice = 0; twice < 2; twice++) {
                uint64_t ticks = counter->read(counter, i);
                wtm_own_stamp(&own[i], ticks);
                wtm_clock_judge_add(judge, (struct wtm_stamp){++order, ticks}, i, part);
            }
        }
        since = wtm_clock_now_ns(CLOCK_MONOTONIC) - begin;
    }
    for (unsigned i = 0; i < cpus->count; i++)
        wtm_clock_judge_own(judge, &own[i]);
    free(own);
    return judge->stamps ? 0 : -1;
}

int wtm_clock_hop(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                  uint64_t time_ns)
{
    size_t bytes;
    cpu_set_t *set = new_set(&bytes), *before = new_set(&bytes);
    int result = -1;
    if (set && before && !sched_getaffinity(0, bytes, before)) {
        result = go_round(judge, counter, cpus, time_ns, set, bytes);
        sched_setaffinity(0, bytes, before);
    }
    CPU_FREE(set);
    CPU_FREE(before);
    return result;
}
