/* SPDX-License-Identifier: MIT
 * Granularity of a counter: how far it moves at least when it moves. Some tell every tick, others go in steps of tens. */
#ifndef WTM_COMMON_CLOCK_STEP_H
#define WTM_COMMON_CLOCK_STEP_H

#include <stddef.h>
#include <stdint.h>

enum { WTM_STEP_READINGS = 128, WTM_STEP_FRACTION = 256 };

/* From `count` readings made one after the other with pauses of different lengths between. Gives the step in 1/256 ticks,
 * 256 for a counter that tells every tick; 0 when the readings are too few or too alike to say, or not in order. At most
 * WTM_STEP_READINGS of them are looked at. Integers only; signal-safe. */
uint32_t wtm_clock_step(const uint64_t *readings, size_t count);

/* Fills `readings` by `read`, with such pauses. 0, or -1 when the counter went backwards or stood still all the while. */
int wtm_clock_step_read(uint64_t (*read)(void), uint64_t *readings, size_t count);

#endif
