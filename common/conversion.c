/* SPDX-License-Identifier: MIT
 * Factors of conversions. */
#include "common/conversion.h"

struct wtm_conversion wtm_conversion_ratio(uint64_t numerator, uint64_t denominator)
{
    if (!denominator)
        return (struct wtm_conversion){1, 0};
    /* Long division: the rest is below the denominator, so its 64 binary places fit into 64 bits. */
    unsigned __int128 rest = (unsigned __int128)(numerator % denominator) << 64;
    unsigned __int128 places = rest / denominator;
    places += rest % denominator >= denominator - denominator / 2; /* to the nearest */
    return (struct wtm_conversion){numerator / denominator + (uint64_t)(places >> 64), (uint64_t)places};
}

struct wtm_conversion wtm_conversion_of(double factor)
{
    if (!(factor > 0 && factor < 9223372036854775808.0))
        return (struct wtm_conversion){1, 0};
    uint64_t whole = (uint64_t)factor;
    return (struct wtm_conversion){whole, (uint64_t)((factor - (double)whole) * 18446744073709551616.0)};
}

long double wtm_conversion_factor(struct wtm_conversion conversion)
{
    return (long double)conversion.whole + (long double)conversion.fraction / 18446744073709551616.0L;
}

double wtm_convert_signed(struct wtm_conversion conversion, int64_t value)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    unsigned __int128 product = (unsigned __int128)size * conversion.fraction;
    long double ns = (long double)size * (long double)conversion.whole + (long double)(uint64_t)(product >> 64) +
                     (long double)(uint64_t)product / 18446744073709551616.0L;
    return (double)(value < 0 ? -ns : ns);
}
