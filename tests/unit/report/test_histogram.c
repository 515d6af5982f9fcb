/* SPDX-License-Identifier: MIT
 * Percentiles from buckets against the sorted samples, deviations against exact ones. */
#include "common/histogram.h"
#include "common/statistics.h"
#include "profile_builder.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 100000 };
static const double fractions[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
enum { FRACTIONS = sizeof fractions / sizeof *fractions };

static uint64_t state;
static double uniform(void) /* xorshift64*, a fixed seed a test */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)((state * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static int64_t draw(int kind, int i)
{
    switch (kind) {
    case 0:
        return (int64_t)(1000 + 9000 * uniform());
    case 1:
        return (int64_t)(-5000 * log(1 - uniform())); /* exponential: from 0 up */
    case 2:
        return (int64_t)exp(12 + 3 * normal()); /* lognormal over many octaves */
    case 3:
        return i % 2 ? 1 << 20 : (1 << 21) - 1; /* two values, each at a bucket's edge */
    case 4:
        return 4096; /* one value, at a lower bound */
    case 5:
        return (int64_t)(100 / pow(1 - uniform(), 0.8)); /* heavy tail */
    case 6:
        return (int64_t)(60 + 4 * normal()); /* where buckets are a tick or two wide */
    default:
        return 21 * (int64_t)(10 + 30 * uniform()); /* a counter with steps of 21 */
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double exact_quantile(const int64_t *sorted, size_t count, double fraction)
{
    size_t rank = (size_t)ceil(fraction * (double)count - 1e-9);
    return (double)sorted[rank ? rank - 1 : 0];
}

Test(histogram, buckets_agree_with_the_writer)
{
    for (unsigned bucket = 0; bucket < WTM_HIST_BUCKETS; bucket++) {
        double low = wtm_histogram_low(bucket, WTM_HIST_SUB_BITS),
               high = wtm_histogram_high(bucket, WTM_HIST_SUB_BITS);
        cr_assert_lt(low, high);
        cr_assert_eq(wtm_hist_bucket((int64_t)low), bucket);
        cr_assert_eq(wtm_hist_bucket((int64_t)high - 1), bucket);
        cr_assert_eq(wtm_histogram_bucket(low, WTM_HIST_SUB_BITS), bucket);
        cr_assert_eq(wtm_histogram_bucket(high - 0.5, WTM_HIST_SUB_BITS), bucket);
        if (low >= 32)
            cr_assert_leq(high - low, low / 32);
    }
    for (unsigned bucket = 0; bucket < WTM_HIST_FINE_BUCKETS; bucket++)
        cr_assert_eq(wtm_histogram_bucket(wtm_histogram_low(bucket, WTM_HIST_FINE_BITS), WTM_HIST_FINE_BITS),
                     bucket);
    cr_assert_eq(wtm_histogram_bucket(-5, WTM_HIST_SUB_BITS), 0);
    cr_assert_eq(wtm_histogram_bucket(1e300, WTM_HIST_SUB_BITS), WTM_HIST_BUCKETS - 1);
    cr_assert_eq(wtm_histogram_bucket(NAN, WTM_HIST_SUB_BITS), 0);
}

/* `factor` 0: direct; else through fine buckets of another clock. */
static void check_distribution(int kind, double factor)
{
    static int64_t samples[SAMPLES];
    static struct wtm_stats stats;
    static uint64_t counts[WTM_HIST_BUCKETS], fine_counts[WTM_HIST_FINE_BUCKETS];
    struct wtm_histogram histogram = {counts, WTM_HIST_BUCKETS, WTM_HIST_SUB_BITS};
    struct wtm_histogram fine = {fine_counts, WTM_HIST_FINE_BUCKETS, WTM_HIST_FINE_BITS};
    stats = (struct wtm_stats){0};
    state = 88172645463325252ull;
    for (int i = 0; i < SAMPLES; i++)
        stats_add(&stats, samples[i] = draw(kind, i));
    qsort(samples, SAMPLES, sizeof *samples, compare);
    wtm_histogram_clear(&histogram);
    wtm_histogram_add(&histogram, &stats);
    double values[FRACTIONS], unit = factor ? factor : 1;
    if (factor) {
        wtm_histogram_clear(&fine);
        wtm_histogram_add_scaled(&fine, &histogram, factor);
        uint64_t total = 0;
        for (unsigned i = 0; i < WTM_HIST_FINE_BUCKETS; i++)
            total += fine_counts[i];
        cr_assert_eq(total, SAMPLES); /* none lost, none made */
    }
    wtm_histogram_quantiles(factor ? &fine : &histogram, (double)stats.min * unit, (double)stats.max * unit,
                            fractions, values, FRACTIONS);
    for (unsigned i = 0; i < FRACTIONS; i++) {
        double exact = exact_quantile(samples, SAMPLES, fractions[i]) * unit;
        double limit = factor ? 0.035 : 0.03, slack = factor ? 1 : 0;
        cr_assert_leq(fabs(values[i] - exact), exact * limit + slack, "kind %d factor %g q %g: %f for %f",
                      kind, factor, fractions[i], values[i], exact);
    }
    cr_assert_eq(values[0], values[0]);
    cr_assert_geq(values[0], (double)stats.min * unit);
    cr_assert_leq(values[FRACTIONS - 1], (double)stats.max * unit);
}

Test(histogram, quantiles_within_three_percent)
{
    for (int kind = 0; kind < 8; kind++)
        check_distribution(kind, 0);
}

Test(histogram, quantiles_across_clock_rates)
{
    for (int kind = 0; kind < 8; kind++) {
        check_distribution(kind, 0.7);
        check_distribution(kind, 1.25);
        check_distribution(kind, 3.9);
    }
}

Test(histogram, wraps_negatives_and_the_open_end)
{
    static struct wtm_stats stats;
    static uint64_t counts[WTM_HIST_BUCKETS];
    struct wtm_histogram histogram = {counts, WTM_HIST_BUCKETS, WTM_HIST_SUB_BITS};
    double values[FRACTIONS];
    wtm_histogram_quantiles(&histogram, 0, 0, fractions, values, FRACTIONS);
    cr_assert_eq(values[3], 0); /* empty */
    stats.hist[40] = 7;
    stats.wraps[3].bucket = 40;
    stats.wraps[3].times = 2;
    stats.wraps[4].bucket = 60000; /* no such bucket */
    stats.wraps[4].times = 9;
    wtm_histogram_add(&histogram, &stats);
    cr_assert_eq(counts[40], (2ull << 32) + 7);
    wtm_histogram_clear(&histogram);
    stats = (struct wtm_stats){0};
    for (int i = -100; i < 0; i++)
        stats_add(&stats, i);
    wtm_histogram_add(&histogram, &stats);
    wtm_histogram_quantiles(&histogram, -100, -1, fractions, values, FRACTIONS);
    for (unsigned i = 0; i < FRACTIONS; i++)
        cr_assert(values[i] >= -100 && values[i] <= -1);
    wtm_histogram_clear(&histogram);
    stats = (struct wtm_stats){0};
    for (int i = 0; i < 1000; i++)
        stats_add(&stats,
                  i % 10 ? 0 : -21); /* most short calls come out as 0: no fraction of a tick is made up */
    wtm_histogram_add(&histogram, &stats);
    wtm_histogram_quantiles(&histogram, -21, 0, fractions, values, FRACTIONS);
    cr_assert_eq(values[2], 0);
    wtm_histogram_clear(&histogram);
    stats = (struct wtm_stats){0};
    stats_add(&stats, INT64_MAX);
    wtm_histogram_add(&histogram, &stats);
    wtm_histogram_quantiles(&histogram, (double)INT64_MAX, (double)INT64_MAX, fractions, values, FRACTIONS);
    cr_assert_eq(values[2], (double)INT64_MAX);
}

static double deviation_of(const int64_t *values, size_t count)
{
    static struct wtm_stats stats;
    stats = (struct wtm_stats){0};
    struct wtm_sums sums = {0};
    for (size_t i = 0; i < count; i++)
        stats_add(&stats, values[i]);
    wtm_sums_add(&sums, &stats);
    struct wtm_moments moments = wtm_sums_moments(&sums, 1);
    return wtm_moments_deviation(&moments);
}

Test(statistics, deviations)
{
    /* Calls of 1 s and 9 s at 2 GHz: squares of ns or ticks exceed 64 bits. Deviation 4 s. */
    cr_assert_float_eq(deviation_of((int64_t[]){2000000000, 18000000000}, 2), 8e9, 1e-3);
    cr_assert_float_eq(deviation_of((int64_t[]){2, 4, 4, 4, 5, 5, 7, 9}, 8), 2, 1e-12);
    cr_assert_float_eq(deviation_of((int64_t[]){-2, -4, -4, -4, -5, -5, -7, -9}, 8), 2, 1e-12);
    cr_assert_float_eq(deviation_of((int64_t[]){-3, 3}, 2), 3, 1e-12);
    cr_assert_float_eq(deviation_of((int64_t[]){7}, 1), 0, 0);
    /* A difference of one tick beside an hour: no cancellation. */
    int64_t hour = 7200000000000;
    cr_assert_float_eq(deviation_of((int64_t[]){hour, hour + 1}, 2), 0.5, 1e-9);
    cr_assert_float_eq(deviation_of((int64_t[]){hour, hour, hour, hour + 4}, 4), sqrt(3), 1e-9);
    cr_assert_float_eq(deviation_of((int64_t[]){-hour, -hour - 1}, 2), 0.5, 1e-9);
    cr_assert_float_eq(deviation_of((int64_t[]){hour, hour, hour}, 3), 0, 0);
}

Test(statistics, sums_and_unions)
{
    static struct wtm_stats part[3];
    struct wtm_sums all = {0}, one = {0};
    struct wtm_moments joined = {0};
    state = 7;
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < 1000 * (p + 1); i++)
            stats_add(&part[p], (int64_t)(1e9 * (p + 1) + 1e6 * normal()));
        wtm_sums_add(&all, &part[p]);
        one = (struct wtm_sums){0};
        wtm_sums_add(&one, &part[p]);
        struct wtm_moments moments = wtm_sums_moments(&one, 0.5);
        wtm_moments_add(&joined, &moments);
    }
    struct wtm_moments exact = wtm_sums_moments(&all, 0.5);
    cr_assert_eq(joined.calls, 6000);
    cr_assert_float_eq((double)(joined.mean / exact.mean), 1, 1e-15);
    cr_assert_float_eq(wtm_moments_deviation(&joined) / wtm_moments_deviation(&exact), 1, 1e-12);
    cr_assert_eq(joined.min, exact.min);
    cr_assert_eq(joined.max, exact.max);
    /* 128 bits: 2^40 calls of 2^43 ticks have a sum of squares beyond 2^126 and a sum beyond 2^64. */
    static struct wtm_stats big;
    big.calls = 1ull << 40;
    big.squares_high = 1ull << 62;
    big.min = big.max = 1ll << 43;
    struct wtm_sums sums = {0};
    wtm_sums_add(&sums, &big);
    sums.sum = (__int128)1 << 83;
    struct wtm_moments moments = wtm_sums_moments(&sums, 1);
    cr_assert_eq((double)moments.mean, (double)(1ll << 43));
    cr_assert_eq(wtm_moments_deviation(&moments), 0);
}
