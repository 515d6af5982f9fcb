/* SPDX-License-Identifier: MIT
 * Granularity. The steps need not be whole ticks: a counter of 100 MHz scaled to 2.1 GHz moves by 20 and 21 in turn. So a
 * greatest common divisor is tried first, and then a step of which all distances are multiples but for one tick. */
#include "common/clock_step.h"

enum { MOST_STEPS = 64, SHORTEST_UNEVEN = 8, FEWEST_MULTIPLES = 8, FEWEST_DISTANCES = 24, LAGS = 10, DISTANCES = 256, LONGEST = 8192,
       TOLERANCE = WTM_STEP_FRACTION * 7 / 4 }; /* both ends are rounded, clocks of a hypervisor twice */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Distances between readings that are up to LAGS apart, sorted, each once; those from LONGEST up are left out. */
static size_t distances_of(uint64_t *distances, const uint64_t *readings, size_t count)
{
    uint64_t seen[LONGEST / 64] = {0};
    size_t n = 0;
    for (size_t i = 1; i < count; i++) {
        for (size_t lag = 1; lag <= LAGS && lag <= i; lag++) {
            uint64_t distance = readings[i] - readings[i - lag];
            if (distance < LONGEST)
                seen[distance / 64] |= (uint64_t)1 << distance % 64;
        }
    }
    seen[0] &= ~(uint64_t)1;
    for (size_t word = 0; word < LONGEST / 64; word++)
        for (uint64_t bits = seen[word]; bits && n < DISTANCES; bits &= bits - 1)
            distances[n++] = word * 64 + (uint64_t)__builtin_ctzll(bits);
    return n;
}

/* Is each distance near a multiple of step/256? Far ones say nothing: the multiple's error grows. Chance would
 * have it so for one in (step / 4) distances, hence the numbers that are asked for. */
static int explains(uint64_t step, const uint64_t *distances, size_t count)
{
    size_t looked = 0, multiples = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < count && distances[i] * WTM_STEP_FRACTION <= step * MOST_STEPS; i++, looked++) {
        uint64_t at = distances[i] * WTM_STEP_FRACTION, multiple = (at + step / 2) / step;
        uint64_t off = at > multiple * step ? at - multiple * step : multiple * step - at;
        if (off > TOLERANCE)
            return 0;
        multiples += multiple != before;
        before = multiple;
    }
    return multiples >= FEWEST_MULTIPLES && looked >= (step < 32 * WTM_STEP_FRACTION ? FEWEST_DISTANCES : FEWEST_DISTANCES / 2);
}

/* The shortest distance is a few steps long. Each number of steps is tried; a candidate is refined by ever longer distances,
 * which know the step ever better, as long as their multiple is certain. The largest step that explains all is the one: its parts do so as well. */
static uint64_t uneven_step(const uint64_t *distances, size_t count)
{
    uint64_t shortest = distances[0], best = 0;
    for (uint64_t steps = 1; steps <= 16 && shortest / steps >= SHORTEST_UNEVEN; steps++) {
        uint64_t about = shortest * WTM_STEP_FRACTION / steps, sum = 0, multiples = 0;
        for (size_t i = 0; i < count && distances[i] * WTM_STEP_FRACTION <= about * MOST_STEPS; i++) {
            multiples += (distances[i] * WTM_STEP_FRACTION + about / 2) / about;
            sum += distances[i] * WTM_STEP_FRACTION;
            about = sum / multiples;
        }
        if (about >= SHORTEST_UNEVEN * WTM_STEP_FRACTION && about > best && explains(about, distances, count))
            best = about;
    }
    return best;
}

uint32_t wtm_clock_step(const uint64_t *readings, size_t count)
{
    uint64_t distances[DISTANCES], common = 0, uneven = 0;
    size_t changes = 0;
    count = count < WTM_STEP_READINGS ? count : WTM_STEP_READINGS;
    for (size_t i = 1; i < count; i++) {
        uint64_t distance = readings[i] - readings[i - 1];
        if ((int64_t)distance < 0)
            return 0;
        common = divisor(common, distance);
        changes += distance != 0;
    }
    if (changes < 3)
        return 0;
    size_t n = common < 4 ? distances_of(distances, readings, count) : 0;
    if (n)
        uneven = uneven_step(distances, n);
    uint64_t step = uneven ? uneven : common * WTM_STEP_FRACTION;
    return step > UINT32_MAX ? 0 : (uint32_t)step;
}

int wtm_clock_step_read(uint64_t (*read)(void), uint64_t *readings, size_t count)
{
    volatile unsigned pause = 0;
    for (size_t i = 0; i < count; i++) {
        readings[i] = read();
        for (unsigned wait = (unsigned)(i * 7 % 23); wait; wait--)
            pause++;
    }
    for (size_t i = 1; i < count; i++)
        if ((int64_t)(readings[i] - readings[i - 1]) < 0)
            return -1;
    return count < 2 || readings[count - 1] != readings[0] ? 0 : -1;
}
