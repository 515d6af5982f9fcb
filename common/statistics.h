/* SPDX-License-Identifier: MIT
 * Sums that do not wrap and deviations that do not cancel: cells are added exactly in 128 bits, profiles of
 * different clock rates then as moments. Pure functions. */
#ifndef WTM_COMMON_STATISTICS_H
#define WTM_COMMON_STATISTICS_H

#include "common/profile_format.h"

/* One or many cells of one clock rate, exactly. */
struct wtm_sums {
    uint64_t calls;
    __int128 sum;
    unsigned __int128 squares;
    int64_t min, max; /* meaningless while calls is 0 */
};

/* Calls, mean, and sum of squared distances from the mean. Any unit. */
struct wtm_moments {
    uint64_t calls;
    long double mean, distance;
    double min, max; /* meaningless while calls is 0 */
};

void wtm_sums_add(struct wtm_sums *sums, const struct wtm_stats *stats);
/* `unit`: what one tick is worth (ns). */
struct wtm_moments wtm_sums_moments(const struct wtm_sums *sums, long double unit);
/* Chan, Golub, LeVeque 1979: moments of the union. */
void wtm_moments_add(struct wtm_moments *moments, const struct wtm_moments *more);
/* Of all calls there were (division by n: these are the calls, not a sample of them). */
double wtm_moments_deviation(const struct wtm_moments *moments);
/* By the instruction, as libm may not be called inside a target; 0 below 0. */
double wtm_square_root(double value);

#endif
