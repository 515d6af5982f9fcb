/* SPDX-License-Identifier: MIT
 * WTM_ORDER: what the readings of the TSC wait for, and what waits for them. */
#ifndef WTM_PRELOAD_ORDER_H
#define WTM_PRELOAD_ORDER_H

#include "preload/hot.h"

/* Writes fences into the entry and exit code, or nops. Before anything is timed, one thread. 0, or a negative errno: the code
 * is as it was built (WTM_ORDER_EXIT). `order`: enum wtm_order. */
int wtm_order_set(uint32_t order) WTM_HIDDEN;

#endif
