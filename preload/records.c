/* SPDX-License-Identifier: MIT
 * Open-call records off the straight path. Runs in the target with general registers only; no libc, no locks.
 *
 * What a record at a given place means:
 * - on the thread's native stack (bounds known): an event at sp shows every record at or below sp to be left, since that
 *   part of the stack is gone. The one exception is a tail call, whose slot still holds our return point.
 * - elsewhere (coroutines, signal stacks): stacks are not told apart by their bounds, and their memory may be unmapped,
 *   so it is never read; a record is left only when its very slot is taken again. */
#include "preload/records.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/thread.h"
#include "preload/profile.h"

static int on_native(const struct wtm_thread *thread, uint64_t sp)
{
    return sp > thread->stack_low && sp <= thread->stack_high;
}

struct wtm_record *wtm_records_caller(struct wtm_thread *thread, struct wtm_record *record)
{
    struct wtm_record *nearest = thread->base; /* local NULL */
    int native = on_native(thread, record->sp);
    for (struct wtm_record *r = record - 1; r > thread->base; r--) {
        if (r->sp <= record->sp || r->sp >= nearest->sp || on_native(thread, r->sp) != native)
            continue;
        if (native || r->sp - record->sp < WTM_SAME_STACK_BYTES)
            nearest = r;
    }
    return nearest;
}

void wtm_records_unlink(struct wtm_record *record)
{
    struct wtm_record *inner = record->local->open;
    while (inner && inner->outer != record)
        inner = inner->outer;
    if (inner)
        inner->outer = record->outer;
}

/* The record is no longer an open call of its function. */
static void unlink_open(struct wtm_record *record)
{
    struct wtm_local *local = record->local;
    if (local->open == record)
        local->open = record->outer;
    else
        wtm_records_unlink(record);
    if (!local->open)
        local->idle = local->cell;
    record->local = NULL;
}

static void close_abnormal(struct wtm_record *record)
{
    if (!record->local)
        return;
    record->local->cell->abnormal++;
    unlink_open(record);
}

/* Moves a record; the copy is complete before the original goes, so a walker sees one of them. */
static void move_record(struct wtm_record *to, struct wtm_record *from)
{
    struct wtm_local *local = from->local;
    *to = *from;
    if (!local)
        return;
    if (local->open == from) {
        local->open = to;
    } else {
        for (struct wtm_record *inner = local->open; inner; inner = inner->outer) {
            if (inner->outer == from) {
                inner->outer = to;
                break;
            }
        }
    }
}

/* Moving records, and taking one out of another thread's, exclude each other. Pushing and popping need no lock: they touch
 * only the top, and a record that another thread can want belongs to a stack that is not running here. A handler that
 * interrupted the holder goes on as if it held it. Gives 1 when the caller must unlock. */
static int lock_records(struct wtm_thread *thread)
{
    uint64_t me = (uintptr_t)wtm_thread, nobody = 0;
    for (unsigned tries = 1; !__atomic_compare_exchange_n(&thread->mover, &nobody, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
         tries++) {
        if (nobody == me)
            return 0;
        nobody = 0;
        if (tries % 64 == 0 && !wtm_process.sandboxed)
            wtm_syscall3(SYS_sched_yield, 0, 0, 0);
        __asm__ volatile("pause");
    }
    return 1;
}

static void unlock_records(struct wtm_thread *thread, int locked)
{
    if (locked)
        __atomic_store_n(&thread->mover, 0, __ATOMIC_RELEASE);
}

/* Squeezes holes out, if no interrupted code holds a pointer to a record: it would find another one there. */
static void squeeze(struct wtm_thread *thread)
{
    struct wtm_record *top = thread->top;
    if (thread->closing)
        return;
    struct wtm_record *to = NULL;
    for (struct wtm_record *r = top; r > thread->base; r--) {
        if (r->sp == WTM_SP_HOLE)
            to = r;
        else if (r->sp == WTM_SP_NONE || !r->local)
            return;
    }
    if (!to)
        return;
    for (struct wtm_record *r = to; r <= top; r++) {
        if (r->sp == WTM_SP_HOLE)
            continue;
        if (to != r) {
            move_record(to, r);
            r->local = NULL;
            r->sp = WTM_SP_HOLE;
        }
        to++;
    }
    thread->top = to - 1;
    for (struct wtm_record *r = to; r <= top; r++)
        r->sp = WTM_SP_NONE;
}

static void compact(struct wtm_thread *thread)
{
    int locked = lock_records(thread);
    squeeze(thread);
    unlock_records(thread, locked);
}


static struct wtm_way_back *way_of(const struct wtm_thread *thread, uint64_t sp)
{
    return &thread->ways[(sp >> 3 ^ sp >> 13) % WTM_WAYS];
}

/* A frame that looks left may come back as long as its slot still holds our return point. Only the native stack is sure
 * to be readable; there it is looked at, elsewhere assumed. */
static void remember_way(const struct wtm_thread *thread, const struct wtm_record *record)
{
    uint64_t sp = record->sp;
    if (sp <= WTM_SP_ADOPTED || (on_native(thread, sp) && *(const uint64_t *)(sp - 8) != (uintptr_t)wtm_return_point))
        return;
    *way_of(thread, sp) = (struct wtm_way_back){sp, record->return_minus_1};
}

static void leave(const struct wtm_thread *thread, struct wtm_record *record)
{
    remember_way(thread, record);
    close_abnormal(record);
    record->sp = WTM_SP_HOLE;
}

/* Counted by the thread in which it returned. */
static void drop_adopted(struct wtm_record *record)
{
    if (record->local)
        unlink_open(record);
    record->sp = WTM_SP_HOLE;
}

void wtm_records_settle(struct wtm_thread *thread, uint64_t sp, int at_stays)
{
    if (thread->busy)
        return;
    thread->busy = 1;
    int native = on_native(thread, sp), holes = 0;
    struct wtm_record *top = thread->top, *oldest_left = NULL;
    for (struct wtm_record *r = top; r > thread->base; r--) {
        if (r->sp == WTM_SP_ADOPTED)
            drop_adopted(r);
        if (r->sp == WTM_SP_HOLE)
            holes = 1;
        if (r->sp <= WTM_SP_HOLE)
            continue;
        if (r->sp == sp) {
            if (at_stays)
                continue; /* a chain of tail calls: others may lie below it */
        } else if (r->sp > sp) {
            if (native && on_native(thread, r->sp))
                break; /* live, and so is all that is older on this stack */
            continue;
        } else if (!native || !on_native(thread, r->sp)) {
            continue;
        }
        leave(thread, r);
        oldest_left = r;
    }
    /* An entry that a signal interrupted and that was left with all below it. */
    for (struct wtm_record *r = top; oldest_left && r > oldest_left; r--)
        if (r->sp == WTM_SP_NONE)
            leave(thread, r);
    if (oldest_left || holes)
        compact(thread);
    thread->busy = 0;
}

void wtm_records_abandon(struct wtm_thread *thread)
{
    int known = thread->stack_high != thread->stack_low;
    thread->closing = NULL;
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp == WTM_SP_ADOPTED)
            drop_adopted(r);
        if (r->sp == WTM_SP_HOLE || (r->sp != WTM_SP_NONE && known && !on_native(thread, r->sp)))
            continue; /* a fiber may go on in another thread */
        close_abnormal(r); /* no way back is kept: the stack may be unmapped, and nobody returns to it */
        r->sp = WTM_SP_HOLE;
    }
    compact(thread);
}

void wtm_records_release(struct wtm_thread *thread, uint64_t sp)
{
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp < sp || !on_native(thread, r->sp))
            continue;
        uint64_t *slot = (uint64_t *)(r->sp - 8); /* of a chain of tail calls all records have the same true address */
        if (*slot != (uintptr_t)wtm_return_point && *slot != r->return_minus_1 + 1)
            continue;
        *slot = r->return_minus_1 + 1;
        close_abnormal(r);
        r->sp = WTM_SP_HOLE;
    }
    compact(thread);
}

unsigned wtm_records_open(const struct wtm_thread *thread)
{
    unsigned open = 0;
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        open += r->local != NULL;
    return open;
}

/* Is the open call `open` of a function an earlier activation on the stack of an event at sp? */
static int is_recursion(const struct wtm_thread *thread, const struct wtm_record *open, uint64_t sp)
{
    if (open->sp == WTM_SP_NONE) /* a signal came into its entry */
        return 1;
    if (open->sp < sp)
        return 0;
    if (on_native(thread, sp) != on_native(thread, open->sp))
        return 0;
    if (on_native(thread, sp)) { /* a signal between the record's completion and the call finds the true address there */
        uint64_t in_slot = *(const uint64_t *)(open->sp - 8);
        return in_slot == (uintptr_t)wtm_return_point || in_slot == open->return_minus_1 + 1;
    }
    return open->sp - sp < WTM_SAME_STACK_BYTES;
}

static int has_outer(const struct wtm_thread *thread, const struct wtm_record *record)
{
    for (const struct wtm_record *r = record->outer; r && r->sp > WTM_SP_HOLE; r = r->outer)
        if (r->local && is_recursion(thread, r, record->sp))
            return 1;
    return 0;
}

unsigned wtm_records_nested(const struct wtm_thread *thread, const struct wtm_local *local)
{
    unsigned nested = 0;
    for (const struct wtm_record *r = local->open; r && r->sp > WTM_SP_HOLE; r = r->outer)
        nested += r->local && has_outer(thread, r);
    return nested;
}

static const struct wtm_record *record_at(const struct wtm_thread *thread, uint64_t sp)
{
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        if (r->sp == sp)
            return r;
    return NULL;
}

/* As the fast path does, for entries that it leaves to us. */
static enum wtm_entry_action push(struct wtm_thread *thread, struct wtm_local *local, uint64_t sp, uint64_t return_minus_1)
{
    struct wtm_record *record = thread->top + 1;
    if (record >= thread->limit) {
        local->cell->entered++;
        local->cell->late++;
        return WTM_ENTRY_BODY;
    }
    thread->top = record;
    struct wtm_record *outer = local->open;
    local->idle = NULL;
    local->open = record;
    record->spent_ticks = thread->spent_ticks;
    record->cpu_offset = thread->cpu_offset;
    record->child_ticks = 0;
    record->outer = outer;
    record->return_minus_1 = return_minus_1;
    record->local = local;
    wtm_increment(&local->cell->entered);
    record->sp = sp;
    return WTM_ENTRY_PUSHED;
}

static enum wtm_entry_action count_recursive(struct wtm_thread *thread, struct wtm_local *local)
{
    wtm_increment(&local->cell->recursive);
    thread->spent_ticks += (uint64_t)wtm_hot.recursive_ticks;
    return WTM_ENTRY_BODY;
}

/* The function has an open call in this thread. Decides what the new one is. Gives PUSHED for "time it". */
static enum wtm_entry_action judge_open(struct wtm_thread *thread, struct wtm_local *local, uint64_t sp)
{
    if (!local->open) /* a signal came between two stores of its entry: that call is just beginning */
        return count_recursive(thread, local);
    for (struct wtm_record *r = local->open, *outer; r; r = outer) {
        outer = r->outer;
        if (!r->local) /* just being closed */
            continue;
        if (r->sp == WTM_SP_ADOPTED && !thread->busy) {
            drop_adopted(r);
            compact(thread);
            return WTM_ENTRY_RETRY;
        }
        if (is_recursion(thread, r, sp)) {
            /* Nested timing ends where the very slot is open already: chains of tail calls stay bounded. */
            if (wtm_hot.nest && r->sp != sp && r->sp != WTM_SP_NONE) {
                wtm_increment(&local->cell->nested);
                return WTM_ENTRY_PUSHED;
            }
            return count_recursive(thread, local);
        }
        if (on_native(thread, sp) && on_native(thread, r->sp) && !thread->busy) { /* left; its slot has another use by now */
            leave(thread, r);
            compact(thread);
            return WTM_ENTRY_RETRY;
        }
    }
    return WTM_ENTRY_PUSHED;
}

enum wtm_entry_action wtm_entry_slow(uint64_t *slot, struct wtm_probe *probe)
{
    struct wtm_thread *thread = wtm_thread;
    if (thread == &wtm_muted_thread)
        return WTM_ENTRY_BODY;
    if (thread->generation != wtm_generation.value) {
        thread = wtm_thread_sync();
        if (!thread) {
            wtm_profile_lost_call();
            return WTM_ENTRY_BODY;
        }
        if (thread->generation == wtm_generation.value)
            return WTM_ENTRY_RETRY;
    }
    struct wtm_local *local = (struct wtm_local *)((char *)thread->locals + probe->local_offset);
    if (!local->cell) {
        uint64_t before = wtm_clock_ticks();
        if (wtm_cell_create(thread, probe, local)) {
            wtm_profile_lost_call();
            return WTM_ENTRY_BODY;
        }
        thread->spent_ticks += wtm_clock_ticks() - before;
        return WTM_ENTRY_RETRY;
    }
    uint64_t sp = (uintptr_t)(slot + 1), return_minus_1 = *slot - 1;
    int tail = *slot == (uintptr_t)wtm_return_point;
    if (thread->top->sp <= sp)
        wtm_records_settle(thread, sp, tail);
    if (!local->idle) {
        enum wtm_entry_action action = judge_open(thread, local, sp);
        if (action != WTM_ENTRY_PUSHED)
            return action;
    }
    if (tail) {
        const struct wtm_record *below = wtm_records_raise(thread, sp);
        if (!below) { /* nobody knows its way back: let it pass */
            local->cell->entered++;
            local->cell->late++;
            return WTM_ENTRY_BODY;
        }
        return_minus_1 = below->return_minus_1;
    }
    if (*thread->switch_word != thread->switch_expected)
        wtm_cpu_renew(thread);
    return push(thread, local, sp, return_minus_1);
}

void wtm_close_switched(struct wtm_thread *thread, struct wtm_record *record, int64_t raw, int64_t cost)
{
    uint64_t direction = wtm_direction_clear();
    struct wtm_cell *cell = record->local->cell;
    if (*thread->switch_word != thread->switch_expected)
        wtm_cpu_renew(thread);
    /* CPU time can only have stood still while real time went on. Where it seems to have lost more than the whole call
     * took, the thread waited between our own readings, outside the interval: the check of the switch word comes before the
     * first TSC reading and after the second. */
    int64_t run = raw + (thread->cpu_offset - record->cpu_offset);
    int outside = run < -wtm_cpu_noise_ticks();
    struct wtm_switched *switched = outside && wtm_cpu_is_cheap() ? NULL : wtm_cell_switched(thread, cell);
    if (switched) {
        wtm_stats_add(&switched->real, raw - cost);
        if (!wtm_process.sandboxed) /* else its runtime is not known */
            wtm_stats_add(&switched->run, (outside ? raw : run) - cost);
    } else if (outside) {
        wtm_stats_add(&cell->steady, raw - cost);
    } else {
        cell->late++;
    }
    wtm_direction_restore(direction);
}

/* In this thread's own cell: a cell has one writer. */
static void count_late(struct wtm_thread *thread, uint32_t index)
{
    struct wtm_probe probe = {.index = index, .local_offset = index * (uint32_t)sizeof(struct wtm_local)};
    struct wtm_local *local = (struct wtm_local *)((char *)thread->locals + probe.local_offset);
    if (index < thread->local_capacity && (local->cell || !wtm_cell_create(thread, &probe, local)))
        wtm_increment(&local->cell->late);
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
        if (local && local->cell)
            count_late(thread, local->index);
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
        int locked = lock_records(other);
        mine = take_from(thread, other, sp);
        unlock_records(other, locked);
    }
    return mine;
}

/* The call was counted as left already; it only needs its way back. */
static struct wtm_record *resurrect(struct wtm_thread *thread, uint64_t sp)
{
    const struct wtm_way_back *way = way_of(thread, sp);
    for (const struct wtm_thread *other = wtm_threads; way->sp != sp; other = other->next) {
        if (!other)
            return NULL;
        way = way_of(other, sp);
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
    struct wtm_record *record = (struct wtm_record *)record_at(thread, sp);
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
    move_record(raised, record);
    record->local = NULL;
    record->sp = WTM_SP_HOLE;
    if (!was_busy)
        compact(thread);
    thread->busy = was_busy;
    return thread->top;
}

struct wtm_record *wtm_close_slow(struct wtm_thread *thread, uint64_t sp, uint64_t now)
{
    uint64_t direction = wtm_direction_clear();
    if (thread->generation != wtm_generation.value) {
        struct wtm_thread *synced = wtm_thread_sync();
        if (synced)
            thread = synced;
    }
    struct wtm_record *record = wtm_records_raise(thread, sp);
    if (!record) {
        wtm_profile_stranded();
        record = thread->top;
    } else if (record->local) { /* else counted already: adopted, or closed and then interrupted */
        record = wtm_close_top(thread, record, now);
    }
    wtm_direction_restore(direction);
    return record;
}
