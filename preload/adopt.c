/* SPDX-License-Identifier: MIT
 * Returns of calls that are not on top of the thread's records: below others (coroutines), in another thread's (fibers that
 * moved), or closed as left already. General registers only; no libc. */
#include "preload/records_internal.h"
#include "preload/cells.h"
#include "preload/profile.h"
#include "preload/ways.h"

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
        wtm_record_set_place(mine, sp);
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
        if (r->sp <= WTM_SP_ADOPTED || r->sp < low || r->sp > high || wtm_on_native(other, r->sp))
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

static struct wtm_way_back *find_way(const struct wtm_thread *thread, uint64_t sp)
{
    struct wtm_way_back *way = wtm_ways_find(thread, sp);
    for (const struct wtm_thread *other = wtm_threads; other && !way; other = other->next)
        way = wtm_ways_find(other, sp);
    return way;
}

int wtm_records_know(const struct wtm_thread *thread, uint64_t sp)
{
    if (wtm_record_at(thread, sp) || wtm_ways_find(thread, sp))
        return 1;
    if (wtm_on_native(thread, sp)) /* nobody else's calls are there */
        return 0;
    for (struct wtm_thread *other = wtm_threads; other; other = other->next) {
        if (other == thread)
            continue;
        int locked = wtm_records_lock(other); /* else it could be missed while it is moved */
        int found = wtm_record_at(other, sp) != NULL;
        wtm_records_unlock(other, locked);
        if (found || wtm_ways_find(other, sp))
            return 1;
    }
    return 0;
}

/* It was counted as left: it was not, but its times are lost. */
static void count_returned(struct wtm_thread *thread, struct wtm_way_back *way)
{
    if (!way->function || way != wtm_ways_find(thread, way->sp))
        return; /* another thread's cell */
    struct wtm_cell *cell = own_cell(thread, (uint32_t)way->function - 1);
    way->function = 0;
    if (cell && cell->abnormal) { /* else it was reset meanwhile */
        cell->abnormal--;
        wtm_increment(&cell->late);
    }
}

/* The call was counted as left already; it only needs its way back. On the thread's own stack this shows that somebody else has
 * a stack there, in an array: what lies below is then judged as foreign stacks are. */
static struct wtm_record *resurrect(struct wtm_thread *thread, uint64_t sp)
{
    struct wtm_way_back *way = find_way(thread, sp);
    struct wtm_record *record = thread->top + 1;
    if (!way || record >= thread->limit)
        return NULL;
    count_returned(thread, way);
    if (wtm_on_native(thread, sp))
        thread->stack_low = sp;
    wtm_record_set_place(record, sp);
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
    if (!was_busy)
        wtm_busy_begin(thread);
    wtm_record_set_place(raised, sp);
    thread->top = raised;
    wtm_record_move(raised, record);
    record->local = NULL;
    record->sp = WTM_SP_HOLE;
    if (!was_busy)
        wtm_records_compact(thread);
    thread->busy = was_busy;
    return thread->top;
}
