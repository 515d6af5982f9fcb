/* SPDX-License-Identifier: MIT
 * A line through clock pairs.
 *
 * Two stages. A slope that half of the pairs may spoil without harm (Siegel 1982, repeated medians) tells which pairs lie
 * off the line; least squares over the others gives the rate and its interval. The pairs of one run are few and the tails of
 * their errors long (interrupts, the host's other guests), so least squares alone would follow the worst of them. */
#include "common/clock_fit.h"
#include "common/statistics.h"

struct points {
    double x[WTM_FIT_PAIRS], y[WTM_FIT_PAIRS]; /* ticks and ns since the middle pair */
    double wide[WTM_FIT_PAIRS];                /* how long the reading took, in ticks */
    size_t count;
};

static double size_of(double value)
{
    return value < 0 ? -value : value;
}

static double median(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double v = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The pair in the middle, from which the others are counted: near them, so that nothing is lost to a double's 53 bits, also
 * when the first one is spoilt. */
static size_t middle_of(const struct wtm_clock_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < n; j++) {
            below += pairs[j].ticks < pairs[i].ticks;
            equal += pairs[j].ticks == pairs[i].ticks;
        }
        if (below <= n / 2 && n / 2 < below + equal)
            return i;
    }
    return 0;
}

/* Readings that took long were interrupted: the shortest, and what is near it, count. Two are kept in any case. */
static size_t take_points(struct points *points, const struct wtm_clock_pair *pairs, size_t count)
{
    double widths[WTM_FIT_PAIRS];
    size_t n = count < WTM_FIT_PAIRS ? count : WTM_FIT_PAIRS;
    for (size_t i = 0; i < n; i++)
        widths[i] = (double)pairs[i].error_ticks;
    double limit = n > 2 ? 3 * median(widths, n) : 1e300;
    const struct wtm_clock_pair *middle = &pairs[middle_of(pairs, n)];
    points->count = 0;
    for (size_t i = 0; i < n; i++) {
        if ((double)pairs[i].error_ticks > limit)
            continue;
        points->x[points->count] = (double)(int64_t)(pairs[i].ticks - middle->ticks);
        points->y[points->count] = (double)(int64_t)(pairs[i].monotonic_raw_ns - middle->monotonic_raw_ns);
        points->wide[points->count++] = (double)pairs[i].error_ticks;
    }
    return n - points->count;
}

/* Median over the points of the median slope to all others. Points of one moment have no slope. */
static double robust_slope(const struct points *points)
{
    double outer[WTM_FIT_PAIRS], inner[WTM_FIT_PAIRS];
    size_t n = 0;
    for (size_t i = 0; i < points->count; i++) {
        size_t m = 0;
        for (size_t j = 0; j < points->count; j++)
            if (points->x[i] != points->x[j])
                inner[m++] = (points->y[j] - points->y[i]) / (points->x[j] - points->x[i]);
        if (m)
            outer[n++] = median(inner, m);
    }
    return n ? median(outer, n) : 0;
}

/* Takes out what lies further off than five times the usual distance, and at least 5 ns: the reading's own steps. Of few
 * pairs the usual distance is hardly known, and leaving out honest ones would make the interval too narrow. */
static size_t drop_outliers(struct points *points, double slope)
{
    double level[WTM_FIT_PAIRS], off[WTM_FIT_PAIRS];
    size_t n = points->count, kept = 0;
    for (size_t i = 0; i < n; i++)
        level[i] = off[i] = points->y[i] - points->x[i] * slope;
    double middle = median(off, n);
    for (size_t i = 0; i < n; i++)
        off[i] = size_of(level[i] - middle);
    double limit = (5 + 60 / (double)n) * 1.4826 * median(off, n);
    limit = limit < 5 ? 5 : limit;
    for (size_t i = 0; i < n; i++) {
        if (size_of(level[i] - middle) > limit)
            continue;
        points->x[kept] = points->x[i];
        points->y[kept] = points->y[i];
        points->wide[kept++] = points->wide[i];
    }
    points->count = kept;
    return n - kept;
}

/* Student's t for 95 %, both sides, by degrees of freedom (Abramowitz and Stegun, table 26.10). */
static double student(size_t freedom)
{
    static const double table[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    return freedom == 0 ? 12.71 : freedom <= 10 ? table[freedom - 1] : 1.96 + 2.8 / (double)freedom;
}

/* What the lengths of the readings bound by themselves: each pair is right within half of its own. */
static double bound_ppb(const struct points *points, size_t first, size_t last)
{
    return (points->wide[first] + points->wide[last]) / 2 / (points->x[last] - points->x[first]) * 1e9;
}

static int least_squares(struct wtm_clock_fit *fit, const struct points *points, double slope)
{
    size_t n = points->count, first = 0, last = 0;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += points->x[i] / (double)n;
        mean_y += (points->y[i] - points->x[i] * slope) / (double)n;
        first = points->x[i] < points->x[first] ? i : first;
        last = points->x[i] > points->x[last] ? i : last;
    }
    fit->span_ns = points->y[last] - points->y[first];
    if (n < 2 || !(points->x[last] > points->x[first]) || !(fit->span_ns >= WTM_FIT_SPAN_NS))
        return -1;
    for (size_t i = 0; i < n; i++) {
        double x = points->x[i] - mean_x;
        xx += x * x;
        xy += x * (points->y[i] - points->x[i] * slope - mean_y);
    }
    double correction = xy / xx;
    for (size_t i = 0; i < n; i++) {
        double off = points->y[i] - points->x[i] * slope - mean_y - (points->x[i] - mean_x) * correction;
        rest += off * off;
    }
    fit->ns_per_tick = slope + correction;
    fit->used = (unsigned)n;
    double bound = bound_ppb(points, first, last);
    fit->interval_ppb = bound;
    if (n > 2) {
        fit->residual_ns = wtm_square_root(rest / (double)(n - 2));
        /* A clock that tells whole nanoseconds cannot be nearer than the rounding, however straight the line. */
        double spread = fit->residual_ns > 0.3 ? fit->residual_ns : 0.3;
        double ppb = student(n - 2) * spread / wtm_square_root(xx) / fit->ns_per_tick * 1e9;
        fit->interval_ppb = ppb < bound ? ppb : bound;
    }
    return fit->ns_per_tick >= 1e-3 && fit->ns_per_tick <= 1e3 ? 0 : -1;
}

int wtm_clock_fit(struct wtm_clock_fit *fit, const struct wtm_clock_pair *pairs, size_t count)
{
    struct points points;
    *fit = (struct wtm_clock_fit){0};
    if (count < 2)
        return -1;
    size_t dropped = take_points(&points, pairs, count);
    double slope = robust_slope(&points);
    if (points.count > 2)
        dropped += drop_outliers(&points, slope);
    fit->dropped = (unsigned)dropped;
    return least_squares(fit, &points, slope);
}
