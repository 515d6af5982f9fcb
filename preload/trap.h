/* SPDX-License-Identifier: MIT
 * SIGTRAP of the int3s that changes of running code leave inside patched bytes; see patcher/live.h. */
#ifndef WTM_PRELOAD_TRAP_H
#define WTM_PRELOAD_TRAP_H

#include "preload/hot.h"

/* Puts our handler in front of the program's; traps that are not ours go on to it, or do what they did without a handler.
 * 0 or a negative errno. With wtm_install_lock() held. */
int wtm_trap_install(void) WTM_HIDDEN;
/* 1: a trap would end the program: some other thread that runs blocks SIGTRAP, or nobody can tell. Waits a little for those
 * that block all signals for a moment. `asleep_too`: also those that block it while they sleep in a system call. */
int wtm_trap_is_blocked(int asleep_too) WTM_HIDDEN;

#endif
