/* SPDX-License-Identifier: MIT
 * Outliers in layers. */
#include "common/outliers.h"
#include <emmintrin.h>

enum { DEVIATIONS = 2 };

static double square_root(double value)
{
    return value > 0 ? _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(value))) : 0;
}

/* Two passes: no cancellation. */
static void describe(struct wtm_outliers *found, const double *values)
{
    long double sum = 0, squares = 0;
    found->mean = found->deviation = 0;
    if (!found->left)
        return;
    for (size_t i = 0; i < found->left; i++)
        sum += values[i];
    long double mean = sum / (long double)found->left;
    for (size_t i = 0; i < found->left; i++)
        squares += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    found->mean = (double)mean;
    found->deviation = square_root((double)(squares / (long double)found->left));
}

static size_t keep(double *values, size_t count, double low, double high)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] >= low && values[i] <= high)
            values[kept++] = values[i];
    return kept;
}

struct wtm_outliers wtm_outliers_take(double *values, size_t count, unsigned layers)
{
    struct wtm_outliers found = {.left = keep(values, count, -__DBL_MAX__, __DBL_MAX__)};
    describe(&found, values);
    for (unsigned layer = 0; layer < layers; layer++) {
        double away = DEVIATIONS * found.deviation;
        size_t left = keep(values, found.left, found.mean - away, found.mean + away);
        if (left == found.left)
            break;
        found.left = left;
        found.layers++;
        describe(&found, values);
    }
    found.taken = count - found.left;
    return found;
}
