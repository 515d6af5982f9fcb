/* SPDX-License-Identifier: MIT
 * Takes outliers away in layers: what lies beyond two standard deviations from the mean of what is left so far. Pure. */
#ifndef WTM_COMMON_OUTLIERS_H
#define WTM_COMMON_OUTLIERS_H

#include <stddef.h>

struct wtm_outliers {
    size_t left, taken;
    unsigned layers;       /* in which something was taken away */
    double mean, deviation; /* of what is left (divided by n); 0 when there was nothing */
};

/* `values` are reordered: those that are left come first, in their order. Stops early when a layer takes nothing away. Values
 * that are no numbers count as taken. */
struct wtm_outliers wtm_outliers_take(double *values, size_t count, unsigned layers);

#endif
