/* SPDX-License-Identifier: MIT
 * Signal actions as the kernel has them. libc's functions may be timed, refuse some numbers, and set errno. */
#ifndef WTM_PRELOAD_KERNEL_SIGNAL_H
#define WTM_PRELOAD_KERNEL_SIGNAL_H

#include <signal.h>
#include "common/sys.h"
#include "preload/hot.h"

struct wtm_kernel_sigaction {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
enum { WTM_SA_RESTORER = 0x04000000 }; /* asm/signal.h */

void wtm_signal_return(void) WTM_HIDDEN; /* stack.S: our restorer */

static inline long wtm_sigaction(int number, const struct wtm_kernel_sigaction *action, struct wtm_kernel_sigaction *old)
{
    return wtm_syscall6(SYS_rt_sigaction, number, (long)action, (long)old, sizeof action->mask, 0, 0);
}

/* Blocks all signals of this thread; what was blocked before is in `before`. Negative errno: nothing is changed. */
static inline long wtm_signals_block(uint64_t *before)
{
    uint64_t all = UINT64_MAX;
    return wtm_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)before, sizeof all, 0, 0);
}
static inline void wtm_signals_restore(const uint64_t *before)
{
    wtm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)before, 0, sizeof *before, 0, 0);
}

#endif
