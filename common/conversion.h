/* SPDX-License-Identifier: MIT
 * Ticks to nanoseconds and back without a division: ns = ticks * period, the period a fixed-point number with 64 binary
 * places, so one 64 x 64 -> 128 bit multiplication for every clock faster than 1 GHz. Valid for all 2^64 tick counts; the
 * error is below 1 ns everywhere and below 0.1 ppb (docs/accuracy.md has the proof, tests/unit/common the check against
 * longer arithmetic). Pure functions on integers: any thread, signal-safe, no floating point but where a double is given. */
#ifndef WTM_COMMON_CONVERSION_H
#define WTM_COMMON_CONVERSION_H

#include <stdint.h>

/* A factor: whole + fraction / 2^64. Rounded to the nearest when made, so wrong by at most 2^-65. */
struct wtm_conversion {
    uint64_t whole, fraction;
};

/* The factor numerator / denominator (ns and ticks of the same stretch of time; 10^9 and a rate in Hz; or the other way
 * round). A denominator of 0 gives the factor 1. */
struct wtm_conversion wtm_conversion_ratio(uint64_t numerator, uint64_t denominator);
/* The same from a number, which must be within 0 and 2^63: exact to the double's 53 bits. Ordinary code only (not the hot
 * path: floating point). */
struct wtm_conversion wtm_conversion_of(double factor);
/* The factor as a number, exact to 64 bits. Ordinary code only. */
long double wtm_conversion_factor(struct wtm_conversion conversion);
/* Signed, with fractions of a nanosecond: for sums of corrected times, which can be below zero. Ordinary code only. */
double wtm_convert_signed(struct wtm_conversion conversion, int64_t value);

/* value * factor, rounded to the nearest; UINT64_MAX where the result does not fit. */
static inline uint64_t wtm_convert(struct wtm_conversion conversion, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)value * conversion.fraction + ((uint64_t)1 << 63);
    uint64_t part = (uint64_t)(product >> 64), result;
    if (__builtin_expect(conversion.whole != 0, 0)) {
        if (__builtin_mul_overflow(value, conversion.whole, &result) || __builtin_add_overflow(result, part, &result))
            return UINT64_MAX;
        return result;
    }
    return part;
}

#endif
