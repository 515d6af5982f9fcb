/* SPDX-License-Identifier: MIT
 * The clock that calls are timed with: the time-stamp counter, or the kernel's CLOCK_MONOTONIC where that may not be read or
 * cannot be trusted (WTM_CLOCK). Chosen once, before anything is timed. */
#ifndef WTM_PRELOAD_CLOCK_H
#define WTM_PRELOAD_CLOCK_H

#include "common/clock_facts.h"
#include "common/conversion.h"
#include "preload/hot.h"

struct wtm_clock {
    uint32_t monotonic;  /* 1: ticks are ns of CLOCK_MONOTONIC */
    uint32_t vdso_calls; /* 1: the vdso may make a system call to tell the time */
    struct wtm_conversion to_ns, to_ticks; /* at the rate known at start: constant, so that differences are consistent */
};
extern struct wtm_clock wtm_clock WTM_HIDDEN;

static inline uint64_t wtm_clock_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return low | (uint64_t)high << 32;
}

/* CLOCK_MONOTONIC in ns: by the vdso, or by a system call while the TSC is forbidden, which the vdso would read. Any context,
 * general registers only. In a process that may make no system call, where one would be needed: the time of wtm_clock_hold(). */
uint64_t wtm_clock_monotonic(void) WTM_HIDDEN;
/* The clock may become unreadable: this is the time that calls open now will end at. */
void wtm_clock_hold(void) WTM_HIDDEN;

/* Of slow paths; the hot path reads the TSC by itself (trampoline.S), or comes here (clocked.c). */
static inline uint64_t wtm_clock_ticks(void)
{
    return WTM_LIKELY(!wtm_clock.monotonic) ? wtm_clock_tsc() : wtm_clock_monotonic();
}

/* Chooses, says so where it is not what was asked for, and fills the header's part. `wanted`: enum wtm_clock_source, or 0 for
 * the TSC unless something speaks against it. Start-up only. */
void wtm_clock_choose(int wanted) WTM_HIDDEN;
void wtm_clock_describe(struct wtm_profile_header *header) WTM_HIDDEN;
/* The rate, stated or measured since the header's first pair. Start-up only. */
void wtm_clock_find_rate(struct wtm_profile_header *header) WTM_HIDDEN;

/* 1 when the clock is read by system calls, as things are. */
int wtm_clock_needs_calls(void) WTM_HIDDEN;
/* 1 when nothing can be timed for now: the clock cannot be read without ending the process. */
int wtm_clock_is_barred(void) WTM_HIDDEN;

/* Kernel clocks by system call: never through libc, which may be patched. */
uint64_t wtm_clock_ns(int clock_id) WTM_HIDDEN;
/* The same moment by the clock and CLOCK_MONOTONIC_RAW: the mean of the closest of a few tries. */
struct wtm_clock_pair wtm_clock_pair(void) WTM_HIDDEN;
/* The same with the caller's room for so many readings: where the stack is the program's, and may be small. */
enum { WTM_CLOCK_PAIR_TRIES = 16 };
struct wtm_clock_pair wtm_clock_pair_in(struct wtm_clock_pair *tries) WTM_HIDDEN;
/* Of slow paths: takes a pair for the profile when the last is old enough. Gives the ticks that this took. */
uint64_t wtm_clock_sample(uint64_t now) WTM_HIDDEN;

#endif
