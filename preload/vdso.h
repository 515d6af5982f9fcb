/* SPDX-License-Identifier: MIT
 * The kernel's own code in each process (vdso): its clock_gettime tells the time without a system call, mostly. */
#ifndef WTM_PRELOAD_VDSO_H
#define WTM_PRELOAD_VDSO_H

#include <time.h>
#include "preload/hot.h"

/* Thread- and signal-safe; uses general registers and little stack; may end in a system call, which it then makes itself;
 * reads the TSC where that is the kernel's clock. Gives 0 or a negative errno, never touches errno. */
typedef int wtm_vdso_gettime(clockid_t clock, struct timespec *time);

/* NULL when there is none (a kernel booted with vdso=0, valgrind). Start-up only. */
wtm_vdso_gettime *wtm_vdso_find(void) WTM_HIDDEN;

#endif
