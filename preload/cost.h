/* SPDX-License-Identifier: MIT
 * What a timed call costs, measured at start through the real path, so that it can be subtracted. */
#ifndef WTM_PRELOAD_COST_H
#define WTM_PRELOAD_COST_H

#include "common/profile_format.h"
#include "preload/hot.h"

/* Times an empty function some thousand times with and without a probe, and recursively. Sets wtm_hot's costs and gives
 * them. The calling thread needs a block (wtm_thread_sync). Takes about half a millisecond. */
struct wtm_cost wtm_cost_measure(void) WTM_HIDDEN;

/* The same once more, shorter, without a change of what is subtracted: how true is it still? 0, or -EBUSY where this thread cannot
 * do it now. About 0.1 ms. */
int wtm_cost_again(struct wtm_cost *cost) WTM_HIDDEN;

#endif
