/* SPDX-License-Identifier: MIT
 * Open-call records off the straight path: calls left by longjmp or exceptions, tail calls, other stacks, fork.
 * Same rules as hot.h: general registers only, no libc, no locks. */
#ifndef WTM_PRELOAD_RECORDS_H
#define WTM_PRELOAD_RECORDS_H

#include "preload/hot.h"

/* From here on a signal handler's events must not reorder records; `thread->busy = 0` ends it. */
static inline __attribute__((always_inline)) void wtm_busy_begin(struct wtm_thread *thread)
{
    thread->busy_sp = (uintptr_t)__builtin_frame_address(0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->busy = 1;
}

/* Closes a call during which the thread was switched out, or any call where the CPU clock must be asked. `raw`: ticks of
 * realtime; `cost`: to be subtracted. */
void wtm_close_switched(struct wtm_thread *thread, struct wtm_record *record, int64_t raw, int64_t cost) WTM_HIDDEN;

/* Closes, as abnormal exits, the calls that an event at `sp` shows to be left: those of the same stack whose slot lies
 * at or below it. A record at `sp` itself stays when `at_stays` (a tail call). */
void wtm_records_settle(struct wtm_thread *thread, uint64_t sp, int at_stays) WTM_HIDDEN;

/* Two calls on stacks of unknown bounds are taken to be on the same one when they are nearer than this: the smallest
 * stacks that coroutine libraries hand out by default are 64 KiB. */
#define WTM_SAME_STACK_BYTES 60000

/* The innermost open call on the stack of `record` that is older than it; a record with local NULL when there is none. */
struct wtm_record *wtm_records_caller(struct wtm_thread *thread, struct wtm_record *record) WTM_HIDDEN;

/* Takes a record out of the middle of its function's chain of open calls. */
void wtm_records_unlink(struct wtm_record *record) WTM_HIDDEN;

/* Brings the record for `sp` to the top of the calling thread's own, from below or from another thread's block (a fiber
 * that moved). NULL when there is none anywhere. */
struct wtm_record *wtm_records_raise(struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;

/* Closes all of a thread's calls on its native stack: the thread has ended. Its block is then free for another. */
void wtm_records_abandon(struct wtm_thread *thread) WTM_HIDDEN;

/* Gives the calls that are open on the thread's native stack, at or above `sp`, their return addresses back, so that they
 * return without us. They count as left, or, with `left` 0, as calls of unknown length. The calling thread's own. */
void wtm_records_release(struct wtm_thread *thread, uint64_t sp, int left) WTM_HIDDEN;
/* The function that was entered with `slot`, which holds our return point, wants to see its true caller there: the calls that it
 * was tail-called from return without us; they count, as calls of unknown length. */
void wtm_records_give_back(struct wtm_thread *thread, uint64_t *slot) WTM_HIDDEN;
/* An exception thrown at `low` was caught at `high`: what is open in between, off the native stack, was left. */
void wtm_records_unwound(struct wtm_thread *thread, uint64_t low, uint64_t high) WTM_HIDDEN;
/* Open calls of a function in this thread that began while an earlier one was open on the same stack. */
unsigned wtm_records_nested(const struct wtm_thread *thread, const struct wtm_local *local) WTM_HIDDEN;

/* Number of calls that are open in this thread, of any function. */
unsigned wtm_records_open(const struct wtm_thread *thread) WTM_HIDDEN;

#endif
