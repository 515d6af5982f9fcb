/* SPDX-License-Identifier: MIT
 * The conversion against exact arithmetic: with v ticks and a factor n / d the result r is within 1 of v n / d exactly when
 * r d is within d of v n; both products fit into 128 bits for the rates that there are, so nothing is rounded here. */
#include "common/conversion.h"
#include "random.h"
#include <criterion/criterion.h>

typedef unsigned __int128 u128;

/* |r d - v n| */
static u128 distance(uint64_t v, uint64_t n, uint64_t d, uint64_t r)
{
    u128 is = (u128)r * d, wanted = (u128)v * n;
    return is > wanted ? is - wanted : wanted - is;
}

static int fits(uint64_t v, uint64_t n, uint64_t d)
{
    return (u128)v * n / d < UINT64_MAX;
}

/* `sane`: a rate that a clock can have, from 1 Hz to 10^11. */
static void check(uint64_t v, uint64_t n, uint64_t d, int sane)
{
    struct wtm_conversion c = wtm_conversion_ratio(n, d);
    uint64_t r = wtm_convert(c, v);
    if (!fits(v, n, d)) {
        cr_assert(r >= UINT64_MAX - 1, "%lu * %lu / %lu gave %lu instead of the largest", v, n, d, r);
        return;
    }
    u128 off = distance(v, n, d, r);
    cr_assert(off < d, "%lu * %lu / %lu gave %lu, a whole one off", v, n, d, r);
    /* 0.1 ppb: from ten thousand million ns up the one ns that is allowed above; below, of what is not rounded off */
    u128 ppb = (u128)v * n / 10000000000u;
    cr_assert(!sane || off <= ppb + d / 2 + 1, "%lu * %lu / %lu gave %lu, more than 0.1 ppb off", v, n, d, r);
}

static const uint64_t edges[] = {0, 1, 2, 999999999, 1000000000, 2095992000, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                 (uint64_t)1 << 53, ((uint64_t)1 << 53) + 1, INT64_MAX, (uint64_t)1 << 63,
                                 UINT64_MAX - 1, UINT64_MAX};
enum { EDGES = sizeof edges / sizeof *edges };

Test(conversion, every_size_of_ticks_at_every_rate)
{
    static const uint64_t rates[] = {1, 3, 1000, 999999, 14318180, 19200000, 24000000, 999999999, 1000000000, 1000000001,
                                     1193182000, 2095992000, 2096014000, 2999999999, 3333333333, 5000000000, 99999999999};
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        for (unsigned j = 0; j < EDGES; j++) {
            check(edges[j], 1000000000, rates[i], 1);
            check(edges[j], rates[i], 1000000000, 1); /* and back */
        }
        for (int j = 0; j < 100000; j++) {
            check(random_word(), 1000000000, rates[i], 1);
            check(random_of_any_size(), 1000000000, rates[i], 1);
            check(random_of_any_size(), rates[i], 1000000000, 1);
        }
    }
}

Test(conversion, any_ratio_of_two_stretches)
{
    for (int i = 0; i < 1000000; i++) {
        uint64_t n = random_of_any_size() | 1, d = random_of_any_size() | 1;
        check(random_word(), n, d, 0);
        check(random_of_any_size(), n, d, 0);
    }
}

Test(conversion, nothing_is_lost_by_order)
{
    struct wtm_conversion c = wtm_conversion_ratio(1000000000, 2095992000);
    for (int i = 0; i < 1000000; i++) {
        uint64_t a = random_of_any_size(), b = a + (random_word() & 15);
        cr_assert(b < a || wtm_convert(c, a) <= wtm_convert(c, b), "%lu and %lu change places", a, b);
    }
}

Test(conversion, signed_with_fractions)
{
    struct wtm_conversion c = wtm_conversion_ratio(1000000000, 2095992000);
    for (int i = 0; i < 1000000; i++) {
        int64_t v = (int64_t)random_of_any_size();
        long double wanted = (long double)v * 1000000000 / 2095992000, is = wtm_convert_signed(c, v);
        long double off = is - wanted, size = wanted < 0 ? -wanted : wanted;
        cr_assert((off < 0 ? -off : off) <= size * 0x1p-52L, "%ld ticks are %.3Lf ns, not %.3Lf", v, wanted, is);
    }
    cr_assert_eq(wtm_convert_signed((struct wtm_conversion){1, 0}, INT64_MIN), -9223372036854775808.0);
}

Test(conversion, factors_from_numbers)
{
    for (int i = 0; i < 1000000; i++) {
        double factor = (double)random_of_any_size() / (double)(random_of_any_size() | 1);
        long double is = wtm_conversion_factor(wtm_conversion_of(factor));
        if (factor > 1e-3 && factor < 1e18) {
            long double off = is / (long double)factor - 1;
            cr_assert((off < 0 ? -off : off) < 1e-15L, "%g became %Lg", factor, is);
        }
    }
    static const double none[] = {0, -1, 1e300, 9223372036854775808.0, __builtin_nan("")};
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert(wtm_conversion_factor(wtm_conversion_of(none[i])) == 1, "%g", none[i]);
    cr_assert(wtm_conversion_factor(wtm_conversion_ratio(5, 0)) == 1);
}
