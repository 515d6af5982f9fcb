/* SPDX-License-Identifier: MIT
 * The time-stamp counter, and how it relates to nanoseconds. */
#ifndef WTM_PRELOAD_CLOCK_H
#define WTM_PRELOAD_CLOCK_H

#include "preload/hot.h"

static inline uint64_t wtm_clock_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return low | (uint64_t)high << 32;
}

/* 0 when reading the TSC would end the process (PR_SET_TSC, which exec passes on). */
int wtm_clock_readable(void) WTM_HIDDEN;

/* Kernel clocks by system call: never through libc or the vdso, which may be patched or trapped. */
uint64_t wtm_clock_ns(int clock_id) WTM_HIDDEN;
/* The same moment by TSC and CLOCK_MONOTONIC_RAW: the closest of a few tries. */
struct wtm_clock_pair wtm_clock_pair(void) WTM_HIDDEN;
/* Rate for conversions inside the process (CPU time to ticks): set once at start, constant from then on, so that
 * differences are consistent. Good to some 100 ppm; reports use pairs over the whole run. */
void wtm_clock_rate_set(uint64_t hz) WTM_HIDDEN;
uint64_t wtm_clock_rate(void) WTM_HIDDEN;
uint64_t wtm_clock_ns_to_ticks(uint64_t ns) WTM_HIDDEN;
/* The rate that CPUID or the hypervisor states, in Hz, or 0. */
uint64_t wtm_clock_stated_hz(void) WTM_HIDDEN;
/* 1 when nothing speaks against the TSC as a clock, else 0 with the reason in words. Start-up only. */
int wtm_clock_trust(char *note, size_t bytes) WTM_HIDDEN;

#endif
