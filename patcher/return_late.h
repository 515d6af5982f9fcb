/* SPDX-License-Identifier: MIT
 * Does a function look at its own return address anywhere, not only among its first instructions? */
#ifndef WTM_PATCHER_RETURN_LATE_H
#define WTM_PATCHER_RETURN_LATE_H

#include <stdint.h>
#include "common/status.h"
#include "patcher/return_hint.h"

/* For code that is not patched, [start, end) from its first instruction on. WTM_REFUSED_NONE, _READS_RETURN or _POPS_RETURN.
 * Cheap where no bytes look like it; otherwise all of the function is decoded. Without memory: NONE. */
enum wtm_refusal wtm_return_late(uintptr_t start, uintptr_t end, const struct wtm_return_frame *frame);

/* Gives back the memory that is kept from one function to the next. */
void wtm_return_late_done(void);

#endif
