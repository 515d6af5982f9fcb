/* SPDX-License-Identifier: MIT
 * Programs that forbid themselves the TSC (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)), as record-and-replay tools and tests do. */
#ifndef WTM_PRELOAD_TSC_H
#define WTM_PRELOAD_TSC_H

#include "preload/hot.h"

/* Before the prctl is made. Forbidden, and the TSC is the clock: everything is disarmed, and the calling thread's open calls get their return
 * addresses back (they count as left), since their way out would read the TSC. `slot`: of the prctl call's return address.
 * Allowed again: timing goes on, if it was armed. */
void wtm_tsc_change(int mode, uintptr_t slot) WTM_HIDDEN;

/* For our own reading in a process that may have forbidden it: allows it, and gives what wtm_tsc_forbid_again() wants. */
int wtm_tsc_allow(void) WTM_HIDDEN;
void wtm_tsc_forbid_again(int was) WTM_HIDDEN;

#endif
