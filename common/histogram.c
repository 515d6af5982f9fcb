/* SPDX-License-Identifier: MIT
 * Bounds, sums and quantiles of log-linear histograms. */
#include "common/histogram.h"
#include <string.h>

double wtm_histogram_low(unsigned bucket, unsigned sub_bits)
{
    unsigned octave = bucket >> sub_bits;
    if (octave < 1)
        return bucket;
    octave--; /* the first octave above the linear part still has buckets of width 1 */
    return (double)((uint64_t)(bucket - (octave << sub_bits)) << octave);
}

double wtm_histogram_high(unsigned bucket, unsigned sub_bits)
{
    return wtm_histogram_low(bucket + 1, sub_bits);
}

unsigned wtm_histogram_bucket(double ticks, unsigned sub_bits)
{
    if (!(ticks >= 1))
        return 0;
    if (ticks >= (double)(1ull << WTM_HIST_MAX_BITS))
        return ((WTM_HIST_MAX_BITS - sub_bits + 1) << sub_bits) - 1;
    uint64_t value = (uint64_t)ticks;
    if (value < 1ull << sub_bits)
        return (unsigned)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value) - sub_bits;
    return (octave << sub_bits) + (unsigned)(value >> octave);
}

void wtm_histogram_clear(struct wtm_histogram *histogram)
{
    memset(histogram->counts, 0, histogram->buckets * sizeof *histogram->counts);
}

void wtm_histogram_add(struct wtm_histogram *histogram, const struct wtm_stats *stats)
{
    for (unsigned i = 0; i < WTM_HIST_BUCKETS; i++)
        histogram->counts[i] += stats->hist[i];
    for (unsigned i = 0; i < sizeof stats->wraps / sizeof *stats->wraps; i++)
        if (stats->wraps[i].bucket < WTM_HIST_BUCKETS)
            histogram->counts[stats->wraps[i].bucket] += (uint64_t)stats->wraps[i].times << 32;
}

/* count x part / whole without overflow of the product. */
static uint64_t share(uint64_t count, double part)
{
    return part >= 1 ? count : (uint64_t)((double)count * part + 0.5);
}

void wtm_histogram_add_scaled(struct wtm_histogram *histogram, const struct wtm_histogram *from,
                              double factor)
{
    for (unsigned i = 0; i < from->buckets; i++) {
        uint64_t count = from->counts[i], given = 0;
        if (!count)
            continue;
        double low = wtm_histogram_low(i, from->sub_bits) * factor;
        double high = wtm_histogram_high(i, from->sub_bits) * factor;
        unsigned first = wtm_histogram_bucket(low, histogram->sub_bits);
        unsigned last = wtm_histogram_bucket(high, histogram->sub_bits);
        /* What lies below a bucket's upper bound, rounded, less what was given out: a single call lands in
         * the middle. */
        for (unsigned to = first; to <= last; to++) {
            double below = (wtm_histogram_high(to, histogram->sub_bits) - low) / (high - low);
            uint64_t sum = to == last ? count : share(count, below);
            if (sum > given) {
                histogram->counts[to] += sum - given;
                given = sum;
            }
        }
    }
}

/* The first bucket holds 0 and all below it, which nobody can tell apart: 0, unless max is smaller still.
 * Where in its bucket the call of rank `position` (0..1 within the bucket) is taken to lie. Buckets of width
 * 1 hold one value. Otherwise spread over the inner three quarters only: right within 0.4 % where calls fill
 * the bucket evenly, and never more than 7/8 of its width (2.8 %) off when all of them sit at one bound. */
static double value_in_bucket(double low, double high, double position)
{
    if (high - low <= 1)
        return low;
    return low + (high - low) * (0.125 + 0.75 * position);
}

void wtm_histogram_quantiles(const struct wtm_histogram *histogram, double min, double max,
                             const double *fractions, double *values, unsigned count)
{
    uint64_t total = 0, before = 0;
    for (unsigned i = 0; i < histogram->buckets; i++)
        total += histogram->counts[i];
    unsigned bucket = 0;
    for (unsigned i = 0; i < count; i++) {
        values[i] = 0;
        if (!total)
            continue;
        double exact = fractions[i] * (double)total;
        uint64_t rank =
            (uint64_t)exact; /* nearest rank: the smallest whole number not below `exact`, from 1 */
        if ((double)rank < exact * (1 - 1e-15))
            rank++;
        rank = rank < 1 ? 1 : rank > total ? total : rank;
        while (bucket < histogram->buckets - 1 && before + histogram->counts[bucket] < rank)
            before += histogram->counts[bucket++];
        uint64_t here = histogram->counts[bucket] ? histogram->counts[bucket] : 1;
        double low = wtm_histogram_low(bucket, histogram->sub_bits);
        double high = wtm_histogram_high(bucket, histogram->sub_bits);
        if (bucket == histogram->buckets - 1 && max > high)
            high = max; /* and everything from 2^44 up in the last */
        double value = value_in_bucket(low, high, ((double)(rank - before) - 0.5) / (double)here);
        values[i] = value < min ? min : value > max ? max : value;
    }
}
