/* SPDX-License-Identifier: MIT
 * A generator of which every run gives the same numbers (xorshift64*, Vigna 2016). */
#ifndef WTM_TESTS_RANDOM_H
#define WTM_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_word(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 2685821657736338717u;
}

/* Of any size: as many small numbers as large ones. */
static inline uint64_t random_of_any_size(void)
{
    return random_word() >> (random_word() & 63);
}

/* Within 0 and 1, and near to a normal distribution of deviation 1. */
static inline double random_fraction(void)
{
    return (double)(random_word() >> 11) / 9007199254740992.0;
}
static inline double random_normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_fraction();
    return sum;
}

#endif
