/* SPDX-License-Identifier: MIT
 * The reader's side of the histogram that profile_format.h defines: wide counters, adding up, quantiles.
 *
 * Buckets are log-linear: 2^sub_bits of them an octave, values below 2^sub_bits one each. A profile has
 * sub_bits WTM_HIST_SUB_BITS. Where profiles of different clock rates are merged, their buckets are spread
 * over finer ones (WTM_HIST_FINE_BITS), so that the second rounding adds 0.4 % at most. Pure functions over
 * the caller's memory. */
#ifndef WTM_COMMON_HISTOGRAM_H
#define WTM_COMMON_HISTOGRAM_H

#include "common/profile_format.h"

enum {
    WTM_HIST_FINE_BITS = 8,
    WTM_HIST_FINE_BUCKETS = (WTM_HIST_MAX_BITS - WTM_HIST_FINE_BITS + 1) << WTM_HIST_FINE_BITS,
};

struct wtm_histogram {
    uint64_t *counts; /* ((WTM_HIST_MAX_BITS - sub_bits + 1) << sub_bits) of them */
    unsigned buckets, sub_bits;
};

/* A bucket holds the values lo <= v < hi, in ticks. */
double wtm_histogram_low(unsigned bucket, unsigned sub_bits);
double wtm_histogram_high(unsigned bucket, unsigned sub_bits);
unsigned wtm_histogram_bucket(double ticks, unsigned sub_bits);

void wtm_histogram_clear(struct wtm_histogram *histogram);
/* Adds the counters of one cell, wraps included. `histogram` has the profile's sub_bits. */
void wtm_histogram_add(struct wtm_histogram *histogram, const struct wtm_stats *stats);
/* Adds `from`, whose values are to be multiplied by `factor` (> 0); a bucket's calls are spread evenly. */
void wtm_histogram_add_scaled(struct wtm_histogram *histogram, const struct wtm_histogram *from,
                              double factor);

/* For each of `count` ascending fractions in 0..1 the value that this share of the calls does not exceed
 * (nearest rank), within 2.8 % of the exact one and between min and max. All in ticks. 0 when the histogram
 * is empty. */
void wtm_histogram_quantiles(const struct wtm_histogram *histogram, double min, double max,
                             const double *fractions, double *values, unsigned count);

#endif
