/* SPDX-License-Identifier: MIT
 * Work that never goes on: a signal came between two instructions of entry or exit code, or the stack ended there, and the
 * handler jumped away. Rules of hot.h: general registers only, no libc.
 *
 * Who was interrupted is known by where it stood on the stack. A handler's own events lie below that; an event at or above it
 * on the same stack shows that what stood there is gone, and so does one on the native stack when it stood on the alternate
 * signal stack, which is used anew from its beginning. Of other stacks it is known only when a slot there is taken again. */
#include "preload/cells.h"
#include "preload/profile.h"
#include "preload/records_internal.h"
#include "preload/stacks.h"

static int is_gone(const struct wtm_thread *thread, uint64_t place, uint64_t sp)
{
    if (wtm_on_alternate(thread, place))
        return wtm_on_alternate(thread, sp) ? place <= sp : wtm_on_native(thread, sp);
    if (place > sp)
        return 0;
    return wtm_on_native(thread, place) ? wtm_on_native(thread, sp) : place > WTM_SP_ADOPTED && wtm_stacks_same(sp, place) == 1;
}

static int is_record(const struct wtm_thread *thread, uint64_t place)
{
    return place >= (uintptr_t)thread->base && place < (uintptr_t)thread->limit;
}

/* Closed and counted; all that is left to do is to lower `top`, which anyone may do. */
static int is_finished(const struct wtm_thread *thread, const struct wtm_record *record)
{
    uint64_t place = wtm_record_place(record);
    if (record == thread->closing)
        return 0;
    return record->sp == WTM_SP_HOLE ||
           (record->sp == WTM_SP_NONE && !record->local && (!place || is_record(thread, place)));
}

void wtm_abandoned_trim(struct wtm_thread *thread)
{
    while (thread->top > thread->base && is_finished(thread, thread->top)) {
        struct wtm_record *record = thread->top;
        thread->top = record - 1;
        record->sp = WTM_SP_NONE;
    }
}

static struct wtm_record *newest_of(const struct wtm_thread *thread, const struct wtm_local *local)
{
    for (struct wtm_record *r = thread->top; r > thread->base; r--)
        if (r->local == local)
            return r;
    return NULL;
}

/* A call that was being counted when it was abandoned was counted or not; its function's counters and its open calls must agree
 * again. What they can differ by is one; more has other reasons (calls that ended in other threads). */
static void count_again(const struct wtm_thread *thread, struct wtm_local *local)
{
    struct wtm_cell *cell = local->cell;
    uint64_t closed = cell->steady.calls + cell->abnormal + cell->late, open = 0;
    if (cell->switched)
        closed += ((struct wtm_switched *)wtm_profile_at(cell->switched))->real.calls;
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        open += r->local == local;
    if (cell->entered == closed + open + 1)
        cell->abnormal++;
}

/* Functions that the abandoned code had withdrawn, or not yet given back. */
static void restore_locals(struct wtm_thread *thread)
{
    for (uint32_t i = 0; i < thread->local_capacity; i++) {
        struct wtm_local *local = &thread->locals[i];
        if (!local->cell || local->idle)
            continue;
        local->open = newest_of(thread, local);
        if (!local->open)
            local->idle = local->cell;
    }
}

static void drop(struct wtm_thread *thread, struct wtm_record *record)
{
    struct wtm_local *local = record->local;
    record->local = NULL;
    record->sp = WTM_SP_HOLE;
    if (local && local->cell)
        count_again(thread, local);
}

static void forget_closing(struct wtm_thread *thread)
{
    struct wtm_record *record = thread->closing;
    uint64_t before = wtm_record_place(record);
    thread->closing = is_record(thread, before) ? (struct wtm_record *)before : NULL;
    if (record->local)
        wtm_records_unlink(record);
    drop(thread, record);
}

/* Gives 1 when something was. */
static int drop_reserved(struct wtm_thread *thread, uint64_t sp)
{
    int any = 0;
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp > sp && wtm_on_native(thread, r->sp))
            break; /* live, and so is all that is older on this stack */
        if (r->sp != WTM_SP_NONE || !is_gone(thread, wtm_record_place(r), sp))
            continue;
        drop(thread, r);
        any = 1;
    }
    return any;
}

static int drop_closing(struct wtm_thread *thread, uint64_t sp)
{
    int any = 0;
    for (struct wtm_record *r; (r = thread->closing); any = 1) {
        uint64_t place = r->sp == WTM_SP_NONE ? r[-1].sp : r->sp; /* NONE: in a chain of tail calls */
        if (r->sp != WTM_SP_HOLE && !is_gone(thread, place, sp))
            break;
        forget_closing(thread);
    }
    return any;
}

/* The abandoned code may have been at another thread's records. */
static void release_locks(const struct wtm_thread *thread)
{
    for (struct wtm_thread *t = wtm_threads; t; t = t->next) {
        uint64_t me = (uintptr_t)thread;
        __atomic_compare_exchange_n(&t->mover, &me, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    }
}

void wtm_abandoned_left(struct wtm_thread *thread, const struct wtm_record *left, uint64_t sp)
{
    int any = 0;
    for (struct wtm_record *r = thread->top; r > left; r--) {
        uint64_t place = wtm_record_place(r);
        if (r->sp != WTM_SP_NONE || wtm_on_native(thread, place) || place > sp || sp - place >= WTM_SAME_STACK_BYTES)
            continue;
        drop(thread, r);
        any = 1;
    }
    if (any)
        restore_locals(thread);
}

void wtm_abandoned_mend(struct wtm_thread *thread, uint64_t sp)
{
    if (thread->locked_sp && is_gone(thread, thread->locked_sp, sp)) {
        thread->locked_sp = 0;
        release_locks(thread);
    }
    if (thread->busy && is_gone(thread, thread->busy_sp, sp))
        thread->busy = 0;
    int any = drop_closing(thread, sp) | drop_reserved(thread, sp);
    wtm_abandoned_trim(thread);
    if (any)
        restore_locals(thread);
}

void wtm_abandoned_end(struct wtm_thread *thread)
{
    release_locks(thread);
    thread->busy = 0;
    thread->locked_sp = 0;
    while (thread->closing)
        forget_closing(thread);
    for (struct wtm_record *r = thread->top; r > thread->base; r--)
        if (r->sp == WTM_SP_NONE)
            drop(thread, r);
    restore_locals(thread);
}
