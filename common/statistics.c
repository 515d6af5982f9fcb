/* SPDX-License-Identifier: MIT
 * Exact sums and moments. */
#include "common/statistics.h"
#include <emmintrin.h>

double wtm_square_root(double value)
{
    return value > 0 ? _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(value))) : 0;
}

static long double from_u128(unsigned __int128 value)
{
    return (long double)(uint64_t)(value >> 64) * 18446744073709551616.0L + (long double)(uint64_t)value;
}

void wtm_sums_add(struct wtm_sums *sums, const struct wtm_stats *stats)
{
    uint64_t calls = stats->calls;
    if (!calls)
        return;
    if (!sums->calls || stats->min < sums->min)
        sums->min = stats->min;
    if (!sums->calls || stats->max > sums->max)
        sums->max = stats->max;
    sums->calls += calls;
    sums->sum += stats->sum;
    sums->squares += (unsigned __int128)stats->squares_high << 64 | stats->squares_low;
}

struct wtm_moments wtm_sums_moments(const struct wtm_sums *sums, long double unit)
{
    struct wtm_moments moments = {.calls = sums->calls};
    if (!sums->calls)
        return moments;
    /* With q the mean rounded down and r the rest, sum (x-q)^2 = squares - q (sum + r): whole numbers, exact
     * modulo 2^128 and so exact. Only the small correction from q to the true mean is left to floating point.
     */
    __int128 calls = (__int128)sums->calls, quotient = sums->sum / calls, rest = sums->sum % calls;
    if (rest < 0) {
        quotient--;
        rest += calls;
    }
    unsigned __int128 around =
        sums->squares - (unsigned __int128)quotient * (unsigned __int128)(sums->sum + rest);
    long double fraction = (long double)(uint64_t)rest / (long double)sums->calls;
    long double distance = from_u128(around) - (long double)(uint64_t)rest * fraction;
    if (around >> 127 || distance < 0)
        distance = 0; /* contradictory numbers: a damaged file, or a cell read while it was written */
    long double size = from_u128(quotient < 0 ? -(unsigned __int128)quotient : (unsigned __int128)quotient);
    moments.mean = ((quotient < 0 ? -size : size) + fraction) * unit;
    moments.distance = distance * unit * unit;
    moments.min = (double)((long double)sums->min * unit);
    moments.max = (double)((long double)sums->max * unit);
    return moments;
}

void wtm_moments_add(struct wtm_moments *moments, const struct wtm_moments *more)
{
    if (!more->calls)
        return;
    if (!moments->calls) {
        *moments = *more;
        return;
    }
    long double a = (long double)moments->calls, b = (long double)more->calls,
                apart = more->mean - moments->mean;
    moments->mean += apart * b / (a + b);
    moments->distance += more->distance + apart * apart * a * b / (a + b);
    moments->calls += more->calls;
    moments->min = more->min < moments->min ? more->min : moments->min;
    moments->max = more->max > moments->max ? more->max : moments->max;
}

double wtm_moments_deviation(const struct wtm_moments *moments)
{
    return moments->calls ? wtm_square_root((double)(moments->distance / (long double)moments->calls)) : 0;
}
