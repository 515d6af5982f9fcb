/* SPDX-License-Identifier: MIT
 * For people at a debugger's prompt: what wtmtime.h has as inline functions, which a program that does not include it has not, as
 * functions to call. `call wtmtime_reset()` in gdb; where the library was stripped, `call (int)wtmtime_reset()`. The header
 * does not come here: its own inline functions have these names. */
#include "preload/hot.h"

#define WTM_PUBLIC __attribute__((visibility("default")))

int wtmtime_1_time(const char *pattern);
int wtmtime_1_untime(const char *name);
int wtmtime_1_control(int what);
int wtmtime_arm(void) WTM_PUBLIC;
int wtmtime_reset(void) WTM_PUBLIC;
int wtmtime_disarm(void) WTM_PUBLIC;
int wtmtime_dump(void) WTM_PUBLIC;
int wtmtime_time(const char *pattern) WTM_PUBLIC;
int wtmtime_untime(const char *name) WTM_PUBLIC;

int wtmtime_arm(void)
{
    return wtmtime_1_control(0);
}

int wtmtime_reset(void)
{
    return wtmtime_1_control(1);
}

int wtmtime_disarm(void)
{
    return wtmtime_1_control(2);
}

int wtmtime_dump(void)
{
    return wtmtime_1_control(3);
}

int wtmtime_time(const char *pattern)
{
    return wtmtime_1_time(pattern);
}

int wtmtime_untime(const char *name)
{
    return wtmtime_1_untime(name);
}
