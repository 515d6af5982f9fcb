/* SPDX-License-Identifier: MIT
 * The counter's rate against the kernel's clocks. CLOCK_MONOTONIC_RAW is itself the counter times a factor on most machines
 * (clocksources tsc, kvm-clock, hyperv): it repeats the kernel's idea of the rate, to some ppb, and cannot show that this is
 * wrong. CLOCK_MONOTONIC and CLOCK_REALTIME are the same, steered by NTP where that runs: a second opinion then, and only
 * then. */
#ifndef WTM_REPORT_CLOCK_RATE_H
#define WTM_REPORT_CLOCK_RATE_H

#include "common/clock_fit.h"

enum { WTM_RATE_CLOCKS = 3 }; /* raw, monotonic, realtime */

/* Pairs of the counter with each of the clocks, taken one after the other. */
struct wtm_rate_pairs {
    struct wtm_clock_pair pairs[WTM_RATE_CLOCKS][WTM_FIT_PAIRS];
    size_t count;
};
/* Adds one of each; the oldest but the first makes room. */
void wtm_rate_pairs_take(struct wtm_rate_pairs *pairs);

struct wtm_rate_check {
    struct wtm_clock_fit fit[WTM_RATE_CLOCKS];
    int known[WTM_RATE_CLOCKS];
    double seconds;
    int is_steered;        /* 1: the kernel's clock is synchronized (adjtimex without STA_UNSYNC) */
    double steering_ppb;   /* by which it corrects the raw clock, as it says */
};
/* Takes `seconds`. */
void wtm_rate_check(struct wtm_rate_check *check, double seconds);
extern const char *const wtm_rate_clock_names[WTM_RATE_CLOCKS];

#endif
