/* SPDX-License-Identifier: MIT
 * What the program itself can call: the library's side of wtmtime.h, whose inline functions find these by name. */
#ifndef WTM_PRELOAD_API_H
#define WTM_PRELOAD_API_H

#include "preload/wtmtime.h"

#define WTM_SHOWN __attribute__((visibility("default")))

int wtmtime_1_time(const char *pattern) WTM_SHOWN;
int wtmtime_1_time_address(const void *function, const char *name) WTM_SHOWN;
int wtmtime_1_untime(const char *name) WTM_SHOWN;
int wtmtime_1_untime_address(const void *function) WTM_SHOWN;
int wtmtime_1_untime_all(void) WTM_SHOWN;
int wtmtime_1_control(int what) WTM_SHOWN; /* enum wtm_control */
/* By name, or by address when that is NULL. `bytes`: of the caller's struct; newer fields come at its end. */
int wtmtime_1_get(const char *name, const void *address, struct wtmtime_function *function, size_t bytes) WTM_SHOWN;
int wtmtime_1_walk(wtmtime_callback *callback, void *context) WTM_SHOWN;
const char *wtmtime_1_why(int result) WTM_SHOWN;

#endif
