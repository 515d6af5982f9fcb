/* SPDX-License-Identifier: MIT
 * Where stacks other than threads' own lie, as far as the program has told: makecontext and sigaltstack are watched. A hint, in
 * a table of fixed size where the newest wins; what is not known there is judged by distance. Rules of hot.h: general registers
 * only, no system call, any thread, signal-safe. */
#ifndef WTM_PRELOAD_STACKS_H
#define WTM_PRELOAD_STACKS_H

#include "preload/hot.h"

enum wtm_stack_kind { WTM_STACK_UNKNOWN, WTM_STACK_CONTEXT, WTM_STACK_SIGNAL };

/* [low, low + bytes) is a stack. Where it is part of the calling thread's own (an array in a frame), what lies below its end
 * is no longer taken for the thread's own stack: there the order of addresses tells nothing. Of a signal stack, which is in use
 * for as long as a handler runs, the same holds for itself alone. */
void wtm_stacks_learn(uint64_t low, uint64_t bytes, enum wtm_stack_kind kind) WTM_HIDDEN;

/* 1: both lie on the same known stack, 0: they do not, -1: neither is on a known one. Stack pointers as records hold them: one
 * behind the last byte is on the stack. */
int wtm_stacks_same(uint64_t sp, uint64_t other) WTM_HIDDEN;

/* The thread goes on at `to` with what lay at `from` left behind by a jump, or, with `thrown`, an exception; `from` is not on
 * the thread's own stack. Gives the highest stack pointer that was left, or 0 when it is a switch of stacks, or may be one. */
uint64_t wtm_stacks_left_to(const struct wtm_thread *thread, uint64_t from, uint64_t to, int thrown) WTM_HIDDEN;

#endif
