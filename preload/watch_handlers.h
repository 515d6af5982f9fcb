/* SPDX-License-Identifier: MIT
 * What is done when a watched function is called. `slot`: address of its return address; `registers`: what the hook saved, by
 * the numbers below. In the middle of the program's calls: raw system calls only, and for those on the way of exceptions and
 * jumps not even these. */
#ifndef WTM_PRELOAD_WATCH_HANDLERS_H
#define WTM_PRELOAD_WATCH_HANDLERS_H

#include "preload/hot.h"

/* What the hook saved, as trampoline.S lays it out. */
enum { SAVED_R10, SAVED_R9, SAVED_R8, SAVED_RDI, SAVED_RSI, SAVED_RDX, SAVED_RCX };

typedef void wtm_watch_handler(uint64_t *slot, const uint64_t *registers);

/* The loader has changed something; it is about to run an initializer. */
wtm_watch_handler wtm_on_loader_change WTM_HIDDEN, wtm_on_initializer WTM_HIDDEN;
/* Frames are left without returning: an exception is thrown, and caught; longjmp. Stacks are moved (greenlet). */
wtm_watch_handler wtm_on_throw WTM_HIDDEN, wtm_on_catch WTM_HIDDEN, wtm_on_jump WTM_HIDDEN, wtm_on_stack_switch WTM_HIDDEN;
/* The program tells where stacks are; it makes a task that shares a thread pointer. */
wtm_watch_handler wtm_on_signal_stack WTM_HIDDEN, wtm_on_context WTM_HIDDEN, wtm_on_clone WTM_HIDDEN;
/* A function that looks at its return address: where that is ours, it gets its own back. */
wtm_watch_handler wtm_on_caller_wanted WTM_HIDDEN;
/* What the program does to itself, or to signals. */
wtm_watch_handler wtm_on_prctl WTM_HIDDEN, wtm_on_syscall WTM_HIDDEN, wtm_on_sigaction WTM_HIDDEN;

/* 1: a jump buffer of this C library is laid out as wtm_on_jump() takes it to be. */
int wtm_knows_jump_buffers(void) WTM_HIDDEN;

#endif
