/* SPDX-License-Identifier: MIT
 * The two ways to get stamps of several CPUs in their true order. */
#ifndef WTM_REPORT_CLOCK_METHODS_H
#define WTM_REPORT_CLOCK_METHODS_H

#include "report/clock_judge.h"
#include "report/counter.h"

struct wtm_cpus {
    unsigned count;
    unsigned numbers[1024]; /* that this process may use */
};
/* 0, or -1 when the system does not tell. */
int wtm_cpus_allowed(struct wtm_cpus *cpus);

/* One thread goes round the CPUs by sched_setaffinity and takes a stamp on each: in order by itself, but a move takes tens of
 * microseconds, and so wide are the bounds. The affinity is put back. 0, or -1 when no CPU could be moved to. */
int wtm_clock_hop(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                  uint64_t time_ns);

/* One thread on each CPU; all take stamps, and a stamp counts when the compare-and-swap after it raises a shared number that
 * was read before it: so numbers are in the order of the stamps. 0, or -1 when a thread could not be started. */
int wtm_clock_race(struct wtm_clock_judge *judge, const struct wtm_counter *counter, const struct wtm_cpus *cpus,
                   uint64_t time_ns);

uint64_t wtm_clock_now_ns(int clock);

#endif
