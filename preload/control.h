/* SPDX-License-Identifier: MIT
 * What can be done to a process that runs: by signals (signals.c) and from inside (api.c). Any thread, signal-safe. */
#ifndef WTM_PRELOAD_CONTROL_H
#define WTM_PRELOAD_CONTROL_H

#include "preload/hot.h"
#include "preload/signals.h"

/* 0; -ENODEV where nothing is timed in this process (or it shares the memory of one that is); -EBUSY for a table that another
 * thread, or the code that this signal interrupted, is printing: it prints once more when it is through. */
int wtm_control(enum wtm_control what) WTM_HIDDEN;
/* Makes sure that what is changed is this process's own: notices a fork. 1, or 0 where nothing can be changed. */
int wtm_control_ready(void) WTM_HIDDEN;

/* Runs `work` on a new stack with signals blocked; on the present one when there is no memory. Gives what it gives. */
int wtm_control_aside(int (*work)(int), int argument, size_t stack_bytes) WTM_HIDDEN;

#endif
