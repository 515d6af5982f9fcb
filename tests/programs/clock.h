/* SPDX-License-Identifier: MIT
 * Sleeping and working for a stated time. */
#ifndef WTM_TESTS_CLOCK_H
#define WTM_TESTS_CLOCK_H

#include <errno.h>
#include <time.h>

static inline long long clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* At least so long, whatever interrupts it. */
static inline void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* So much CPU time of this thread. */
static inline void work_ms(long ms)
{
    long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

#endif
