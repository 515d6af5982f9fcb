/* SPDX-License-Identifier: MIT
 * The program's signal handlers: found when they are installed (sigaction is watched, not interposed) and timed like other
 * functions, so that their time is told apart from that of the functions they interrupt. Only with WTM_NOISE=1, or when
 * WTM_SUBTRACT has `signals:*`. */
#ifndef WTM_PRELOAD_HANDLERS_H
#define WTM_PRELOAD_HANDLERS_H

#include "preload/hot.h"

/* 1 when handlers are to be found. */
int wtm_handlers_wanted(void) WTM_HIDDEN;
/* Start-up: those that are installed already. */
void wtm_handlers_present(void) WTM_HIDDEN;
/* sigaction(number, action, ...) is about to run. `action`: the program's pointer, as it is. Any thread; a signal handler
 * that comes while functions are being changed learns nothing. */
void wtm_handlers_learn(int number, uintptr_t action) WTM_HIDDEN;
/* Takes `signals:*` out of a list of patterns, in place. 1 when it was there. */
int wtm_handlers_asked(char *patterns) WTM_HIDDEN;

#endif
