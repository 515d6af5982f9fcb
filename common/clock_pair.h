/* SPDX-License-Identifier: MIT
 * One pair from several readings. Inline: the library needs it built for general registers only. */
#ifndef WTM_COMMON_CLOCK_PAIR_H
#define WTM_COMMON_CLOCK_PAIR_H

#include "common/profile_format.h"

/* The mean of those of `tries` whose bracket (error_ticks) is within a quarter of `shortest`, which one of them has: each is right
 * to half of its bracket, and their errors differ. */
static inline struct wtm_clock_pair wtm_clock_pair_mean(const struct wtm_clock_pair *tries, unsigned count, uint64_t shortest)
{
    struct wtm_clock_pair mean = tries[0];
    uint64_t ticks = 0, ns = 0, used = 0;
    for (unsigned i = 0; i < count; i++) {
        if (tries[i].error_ticks > shortest + shortest / 4)
            continue;
        ticks += tries[i].ticks - tries[0].ticks;
        ns += tries[i].monotonic_raw_ns - tries[0].monotonic_raw_ns;
        used++;
    }
    mean.ticks += (ticks + used / 2) / used;
    mean.monotonic_raw_ns += (ns + used / 2) / used;
    mean.error_ticks = shortest;
    return mean;
}

#endif
