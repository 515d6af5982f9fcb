/* SPDX-License-Identifier: MIT
 * Returns of calls that are not on top of the thread's records: below others (coroutines), in another thread's (fibers that
 * moved), or closed as left already. General registers only; no libc. */
#include "preload/records_internal.h"
#include "preload/cells.h"
#include "preload/profile.h"

/* The function's cell of this thread, or NULL: a cell has one writer. */
static struct wtm_cell *own_cell(struct wtm_thread *thread, uint32_t index)
{
    struct wtm_probe probe = {.index = index, .local_offset = index * (uint32_t)sizeof(struct wtm_local)};
    struct wtm_local *local = (struct wtm_local *)((char *)thread->locals + probe.local_offset);
    return index < thread->local_capacity && (local->cell || !wtm_cell_create(thread, &probe, local)) ? local->cell : NULL;
}

static struct wtm_record *take_from(struct wtm_thread *thread, struct wtm_thread *other, uint64_t sp)
{
    for (struct wtm_record *r = other->top; r > other->base; r--) {
        if (r->sp != sp)
            continue;
        struct wtm_record *mine = thread->top + 1;
        if (mine >= thread->limit)
            return NULL;
        const struct wtm_local *local = r->local;
        thread->top = mine;
        mine->return_minus_1 = r->return_minus_1;
        mine->local = NULL;
        mine->sp = sp;
        struct wtm_cell *cell = local && local->cell ? own_cell(thread, local->index) : NULL;
        if (cell)
            wtm_increment(&cell->late);
        __atomic_store_n(&r->sp, WTM_SP_ADOPTED, __ATOMIC_RELEASE);
        return mine;
    }
    return NULL;
}

/* A call that began in another thread (a fiber that moved): its way back becomes ours. */
static struct wtm_record *adopt(struct wtm_thread *thread, uint64_t sp)
{
    struct wtm_record *mine = NULL;
    for (struct wtm_thread *other = wtm_threads; other && !mine; other = other->next) {
        if (other == thread)
            continue;
        int locked = wtm_records_lock(other);
        mine = take_from(thread, other, sp);
        wtm_records_unlock(other, locked);
    }
    return mine;
}

static void leave_in(struct wtm_thread *thread, struct wtm_thread *other, uint64_t low, uint64_t high)
{
    for (struct wtm_record *r = other->top; r > other->base; r--) {
        if (r->sp <= WTM_SP_ADOPTED || r->sp < low || r->sp > high)
            continue;
        const struct wtm_local *local = r->local;
        struct wtm_cell *cell = local && local->cell ? own_cell(thread, local->index) : NULL;
        if (cell)
            wtm_increment(&cell->abnormal);
        __atomic_store_n(&r->sp, WTM_SP_ADOPTED, __ATOMIC_RELEASE);
    }
}

void wtm_records_unwound_elsewhere(struct wtm_thread *thread, uint64_t low, uint64_t high)
{
    for (struct wtm_thread *other = wtm_threads; other; other = other->next) {
        if (other == thread || other->top == other->base)
            continue;
        int locked = wtm_records_lock(other);
        leave_in(thread, other, low, high);
        wtm_records_unlock(other, locked);
    }
}

/* The call was counted as left already; it only needs its way back. */
static struct wtm_record *resurrect(struct wtm_thread *thread, uint64_t sp)
{
    const struct wtm_way_back *way = wtm_way_of(thread, sp);
    for (const struct wtm_thread *other = wtm_threads; way->sp != sp; other = other->next) {
        if (!other)
            return NULL;
        way = wtm_way_of(other, sp);
    }
    struct wtm_record *record = thread->top + 1;
    if (record >= thread->limit)
        return NULL;
    thread->top = record;
    record->return_minus_1 = way->return_minus_1;
    record->local = NULL;
    record->sp = sp;
    return record;
}

struct wtm_record *wtm_records_raise(struct wtm_thread *thread, uint64_t sp)
{
    wtm_records_settle(thread, sp, 1);
    struct wtm_record *record = (struct wtm_record *)wtm_record_at(thread, sp);
    if (!record)
        record = adopt(thread, sp);
    if (!record)
        record = resurrect(thread, sp);
    if (!record)
        return NULL;
    if (record == thread->top)
        return record;
    struct wtm_record *raised = thread->top + 1;
    if (raised >= thread->limit)
        return NULL;
    int was_busy = thread->busy;
    thread->busy = 1;
    thread->top = raised;
    wtm_record_move(raised, record);
    record->local = NULL;
    record->sp = WTM_SP_HOLE;
    if (!was_busy)
        wtm_records_compact(thread);
    thread->busy = was_busy;
    return thread->top;
}
