/* SPDX-License-Identifier: MIT
 * The rate of a counter from pairs (clock, counter): a straight line through them, without those that lie off it, and an
 * interval. Pure functions of ordinary code (floating point). */
#ifndef WTM_COMMON_CLOCK_FIT_H
#define WTM_COMMON_CLOCK_FIT_H

#include <stddef.h>
#include "common/conversion.h"
#include "common/profile_format.h"

enum { WTM_FIT_PAIRS = WTM_CLOCK_PAIRS + 2, WTM_FIT_SPAN_NS = 1000000 };

struct wtm_clock_fit {
    double ns_per_tick;
    double interval_ppb; /* half of the 95 % interval; for two pairs what their readings bound */
    double span_ns;      /* between the first and the last pair that was used */
    double residual_ns;  /* deviation of the pairs from the line */
    unsigned used, dropped;
};

/* `pairs` in any order. Pairs are dropped when their reading took much longer than that of the others (it was interrupted,
 * so its middle says little) or when they lie far off the line (a torn reading, a clock that was stepped). 0; or -1 when the
 * pairs that are left span less than WTM_FIT_SPAN_NS or give no sane rate. At most WTM_FIT_PAIRS of them are looked at. */
int wtm_clock_fit(struct wtm_clock_fit *fit, const struct wtm_clock_pair *pairs, size_t count);

/* What a profile says of its clock. */
struct wtm_clock_rate {
    struct wtm_conversion to_ns;
    double ns_per_tick;   /* the same as a number */
    double interval_ppb;  /* of the rate; below 0: not known (too short a run) */
    double step_ns;       /* granularity of the counter; 0: not known */
    enum wtm_rate_source source; /* of the rate that is used */
    unsigned pairs, dropped;
    double stated_ppb;    /* how far the stated rate is above that of the pairs; 0 without both */
};

/* From the stated rate where there is one and the pairs bear it out, else from the pairs, else from the coarse rate that
 * the process measured at its start. Always a sane rate (1e-3 to 1e3 ns a tick). */
void wtm_profile_rate(const struct wtm_profile_header *header, struct wtm_clock_rate *rate);

#endif
