/* SPDX-License-Identifier: MIT
 * The table: at the end of the program, or on demand. */
#ifndef WTM_PRELOAD_EXIT_TABLE_H
#define WTM_PRELOAD_EXIT_TABLE_H

#include "preload/hot.h"

/* Brings the profile's header up to date (end time, clock pair) and prints the table where WTM_TABLE says. `last`: the
 * process ends now. 0, or -EBUSY when another thread, or what this signal handler interrupted, is at it: that one then
 * prints once more. A process that ends waits for the other thread a while, and then goes on without it. Large frames. */
int wtm_exit_table(int last) WTM_HIDDEN;
/* No system call may be made soon: takes the memory, opens the file and reads the clock for one table now. After
 * wtm_profile_seal(), muted. */
void wtm_exit_table_prepare(void) WTM_HIDDEN;

#endif
