/* SPDX-License-Identifier: MIT
 * Rates from pairs: the right one, within the interval told, also when some pairs are spoilt. */
#include "common/clock_fit.h"
#include "random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST = WTM_FIT_PAIRS };
static struct wtm_clock_pair pairs[MOST];

/* `count` pairs over `span_ns` of a counter of `hz`, read with a deviation of `noise_ns`. */
static void make(size_t count, double hz, double span_ns, double noise_ns)
{
    uint64_t ticks = random_word(), ns = random_word() >> 8;
    for (size_t i = 0; i < count; i++) {
        double at = count > 1 ? span_ns * (double)i / (double)(count - 1) : 0;
        pairs[i] = (struct wtm_clock_pair){ticks + (uint64_t)llround(at * hz / 1e9),
                                           ns + (uint64_t)llround(at + noise_ns * random_normal()),
                                           80 + random_word() % 20};
    }
}

static double off_ppb(const struct wtm_clock_fit *fit, double hz)
{
    return fabs(fit->ns_per_tick * hz / 1e9 - 1) * 1e9;
}

Test(clock_fit, without_noise_it_is_exact_and_the_interval_is_that_of_whole_ns)
{
    struct wtm_clock_fit fit;
    for (size_t count = 2; count <= MOST; count++) {
        make(count, 2095992000, 1e9, 0);
        cr_assert_eq(wtm_clock_fit(&fit, pairs, count), 0);
        cr_assert_lt(off_ppb(&fit, 2095992000), 1.5, "%zu pairs: %g ppb", count, off_ppb(&fit, 2095992000));
        cr_assert_eq(fit.used, count);
    }
    cr_assert_lt(fit.interval_ppb, 1);
}

/* Of intervals of 95 % some 95 in 100 hold; the bound that they are capped by can only make them hold less, and the noise
 * here is far below it. */
Test(clock_fit, the_interval_holds_as_often_as_it_says)
{
    static const size_t counts[] = {5, 16, 34, 66};
    for (unsigned c = 0; c < 4; c++) {
        int held = 0;
        for (int i = 0; i < 2000; i++) {
            struct wtm_clock_fit fit;
            make(counts[c], 2.2e9, 2e9, 5);
            cr_assert_eq(wtm_clock_fit(&fit, pairs, counts[c]), 0);
            held += off_ppb(&fit, 2.2e9) <= fit.interval_ppb;
        }
        cr_assert(held > 1840 && held < 1990, "%d of 2000 intervals of %zu pairs hold", held, counts[c]);
    }
}

/* A reading that was interrupted says so by its length; a clock that was stepped, a torn pair, do not. */
Test(clock_fit, spoilt_pairs_are_left_out)
{
    for (int round = 0; round < 500; round++) {
        struct wtm_clock_fit fit;
        unsigned spoilt = 0;
        make(40, 3e9, 1e9, 4);
        for (size_t i = 0; i < 40; i++) {
            unsigned kind = (unsigned)(random_word() % 12);
            if (kind > 2 || spoilt >= 10)
                continue;
            spoilt++;
            if (kind == 0) {
                pairs[i].error_ticks = 30000;
                pairs[i].ticks += random_word() % 15000;
            } else if (kind == 1) {
                pairs[i].monotonic_raw_ns += 1000 + random_word() % 1000000000;
            } else {
                pairs[i].ticks = random_word();
            }
        }
        cr_assert_eq(wtm_clock_fit(&fit, pairs, 40), 0);
        cr_assert(fit.dropped >= spoilt && fit.used >= 20, "%u spoilt, %u dropped", spoilt, fit.dropped);
        cr_assert_lt(off_ppb(&fit, 3e9), 12, "%g ppb with %u spoilt", off_ppb(&fit, 3e9), spoilt);
    }
}

Test(clock_fit, no_rate_without_pairs_that_lie_apart)
{
    struct wtm_clock_fit fit;
    make(2, 2e9, 1e9, 0);
    cr_assert_eq(wtm_clock_fit(&fit, pairs, 0), -1);
    cr_assert_eq(wtm_clock_fit(&fit, pairs, 1), -1);
    make(10, 2e9, 999999, 0);
    cr_assert_eq(wtm_clock_fit(&fit, pairs, 10), -1);
    memset(pairs, 0, sizeof pairs);
    cr_assert_eq(wtm_clock_fit(&fit, pairs, MOST), -1);
    make(10, 2e9, 1e9, 0);
    for (int i = 0; i < 10; i++)
        pairs[i].ticks = pairs[0].ticks; /* a counter that stands still */
    cr_assert_eq(wtm_clock_fit(&fit, pairs, 10), -1);
    for (int i = 0; i < 100000; i++) { /* nonsense gives a sane rate or none */
        for (int j = 0; j < 8; j++)
            pairs[j] = (struct wtm_clock_pair){random_of_any_size(), random_of_any_size(), random_of_any_size()};
        if (!wtm_clock_fit(&fit, pairs, 8))
            cr_assert(fit.ns_per_tick >= 1e-3 && fit.ns_per_tick <= 1e3 && fit.interval_ppb >= 0);
    }
}

Test(clock_fit, a_stated_rate_counts_where_the_pairs_bear_it_out)
{
    struct wtm_profile_header header = {.clock = WTM_CLOCK_TSC, .tick_hz_hint = 2095992000, .clock_step = 21 * 256};
    struct wtm_clock_rate rate;
    make(34, 2095992000, 1e9, 4);
    header.first = pairs[0];
    header.last = pairs[33];
    header.pair_count = 32;
    memcpy(header.pairs, pairs + 1, 32 * sizeof *pairs);
    header.rate_source = WTM_RATE_CPUID;
    wtm_profile_rate(&header, &rate);
    cr_assert(rate.source == WTM_RATE_CPUID && rate.ns_per_tick == 1e9 / 2095992000 && rate.interval_ppb > 0);
    cr_assert(rate.pairs >= 30 && fabs(rate.step_ns - 10.019) < 0.001);
    header.tick_hz_hint = 2096000000; /* 4 ppm off: the pairs count, and the difference is told */
    wtm_profile_rate(&header, &rate);
    cr_assert(rate.source == WTM_RATE_PAIRS && fabs(rate.ns_per_tick * 2.095992 - 1) < 1e-8);
    cr_assert(fabs(rate.stated_ppb - 3817) < 20, "%g", rate.stated_ppb);
    header.pair_count = UINT32_MAX; /* damaged */
    wtm_profile_rate(&header, &rate);
    cr_assert(rate.source == WTM_RATE_PAIRS);
    memset(&header.pairs, 0, sizeof header.pairs);
    header.last = header.first;
    wtm_profile_rate(&header, &rate);
    cr_assert(rate.source == WTM_RATE_CPUID && rate.interval_ppb < 0, "too short for pairs: the stated rate, no interval");
    header.clock = WTM_CLOCK_MONOTONIC;
    wtm_profile_rate(&header, &rate);
    cr_assert(rate.source == WTM_RATE_CLOCK && rate.ns_per_tick == 1 && rate.interval_ppb == 0);
}
