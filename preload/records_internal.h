/* SPDX-License-Identifier: MIT
 * What records.c, adopt.c and slow.c share. Rules of hot.h. */
#ifndef WTM_PRELOAD_RECORDS_INTERNAL_H
#define WTM_PRELOAD_RECORDS_INTERNAL_H

#include "preload/records.h"

/* It returned in another thread, which does not look at it any more: this load pairs with that thread's store. */
static inline int wtm_record_was_adopted(const struct wtm_record *record)
{
    return __atomic_load_n(&record->sp, __ATOMIC_ACQUIRE) == WTM_SP_ADOPTED;
}

static inline int wtm_on_alternate(const struct wtm_thread *thread, uint64_t sp)
{
    return sp > thread->alt_low && sp <= thread->alt_high;
}

/* A signal stack may be an array in a frame of the native one; the order of calls says nothing there. */
static inline int wtm_on_native(const struct wtm_thread *thread, uint64_t sp)
{
    return sp > thread->stack_low && sp <= thread->stack_high && !wtm_on_alternate(thread, sp);
}

/* What interrupted code left undone because a signal's handler jumped away, as far as an event at `sp` shows it. */
void wtm_abandoned_mend(struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;
/* The same for entries on a stack of which no more is known than that the slot of `left`, at `sp`, was taken again. */
void wtm_abandoned_left(struct wtm_thread *thread, const struct wtm_record *left, uint64_t sp) WTM_HIDDEN;
/* The thread has ended, in the midst of anything: nothing goes on that is half done. */
void wtm_abandoned_end(struct wtm_thread *thread) WTM_HIDDEN;
/* Takes finished records off the top. */
void wtm_abandoned_trim(struct wtm_thread *thread) WTM_HIDDEN;

/* Moving records, and taking one out of another thread's, exclude each other. lock gives 1 when unlock must undo it. */
int wtm_records_lock(struct wtm_thread *thread) WTM_HIDDEN;
void wtm_records_unlock(struct wtm_thread *thread, int locked) WTM_HIDDEN;
/* The copy is complete before the original goes; chains of open calls follow. */
void wtm_record_move(struct wtm_record *to, struct wtm_record *from) WTM_HIDDEN;
/* Calls between `low` and `high` that began in other threads were left in this one (an exception in a fiber that moved). */
void wtm_records_unwound_elsewhere(struct wtm_thread *thread, uint64_t low, uint64_t high) WTM_HIDDEN;
/* Squeezes holes out, if no interrupted code holds a pointer to a record. */
void wtm_records_compact(struct wtm_thread *thread) WTM_HIDDEN;
/* Closes a call as abnormal and makes a hole of its record; its way back is kept. */
void wtm_record_leave(struct wtm_thread *thread, struct wtm_record *record) WTM_HIDDEN;
/* Makes a hole of a record whose call returned in another thread. */
void wtm_record_drop_adopted(struct wtm_record *record) WTM_HIDDEN;
/* The thread's own record for this stack pointer, the newest if there are several, or NULL. */
const struct wtm_record *wtm_record_at(const struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;
/* The thread's own record of the call that returned to `sp` and took arguments off the stack with its return address
 * (`ret N`), or NULL: the nearest below. Only for a stack pointer that no record has. */
const struct wtm_record *wtm_record_popped(const struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;
/* Some record or way back is known for this stack pointer, which the calling thread returned to. */
int wtm_records_know(const struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;

#endif
