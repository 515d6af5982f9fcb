/* SPDX-License-Identifier: MIT
 * Open-call records off the straight path. Runs in the target with general registers only; no libc, no locks.
 *
 * What a record at a given place means:
 * - on the thread's native stack (bounds known): an event at sp shows every record at or below sp to be left, since that
 *   part of the stack is gone. The one exception is a tail call, whose slot still holds our return point.
 * - elsewhere (coroutines, signal stacks): stacks are not told apart by their bounds, and their memory may be unmapped,
 *   so it is never read; a record is left only when its very slot is taken again, or, on a stack whose bounds the program
 *   told (stacks.h), when something happens above it. */
#include "preload/records_internal.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/thread.h"
#include "preload/profile.h"
#include "preload/special.h"
#include "preload/stacks.h"
#include "preload/ways.h"

struct wtm_record *wtm_records_caller(struct wtm_thread *thread, struct wtm_record *record)
{
    struct wtm_record *nearest = thread->base; /* local NULL */
    int native = wtm_on_native(thread, record->sp);
    for (struct wtm_record *r = record - 1; r > thread->base; r--) {
        if (r->sp <= record->sp || r->sp >= nearest->sp || wtm_on_native(thread, r->sp) != native)
            continue;
        int same = native ? 1 : wtm_stacks_same(record->sp, r->sp);
        if (same > 0 || (same < 0 && r->sp - record->sp < WTM_SAME_STACK_BYTES))
            nearest = r;
    }
    return nearest;
}

/* The next newer open call of the same function, or NULL. */
static struct wtm_record *inner_of(const struct wtm_record *record)
{
    struct wtm_record *inner = record->local->open;
    while (inner && inner->outer != record)
        inner = inner->outer;
    return inner;
}

void wtm_records_unlink(struct wtm_record *record)
{
    struct wtm_record *inner = inner_of(record);
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
void wtm_record_move(struct wtm_record *to, struct wtm_record *from)
{
    struct wtm_local *local = from->local;
    *to = *from;
    if (!local)
        return;
    wtm_special_moved(wtm_thread, to, from);
    struct wtm_record *inner = inner_of(from);
    if (local->open == from)
        local->open = to;
    else if (inner)
        inner->outer = to;
}

static int has_block(void)
{
    return wtm_thread != &wtm_no_thread && wtm_thread != &wtm_muted_thread;
}

/* Moving records, and taking one out of another thread's, exclude each other. Pushing and popping need no lock: they touch
 * only the top, and a record that another thread can want belongs to a stack that is not running here. A handler that
 * interrupted the holder goes on as if it held it. Gives 1 when the caller must unlock. */
__attribute__((noinline)) int wtm_records_lock(struct wtm_thread *thread)
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
    if (has_block() && !wtm_thread->locked_sp)
        wtm_thread->locked_sp = (uintptr_t)__builtin_frame_address(0);
    return 1;
}

void wtm_records_unlock(struct wtm_thread *thread, int locked)
{
    if (!locked)
        return;
    __atomic_store_n(&thread->mover, 0, __ATOMIC_RELEASE);
    if (has_block())
        wtm_thread->locked_sp = 0;
}

/* Squeezes holes out, if no interrupted code holds a pointer to a record: it would find another one there. */
static void squeeze(struct wtm_thread *thread)
{
    wtm_abandoned_trim(thread);
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
            wtm_record_move(to, r);
            r->local = NULL;
            r->sp = WTM_SP_HOLE;
        }
        to++;
    }
    thread->top = to - 1;
    for (struct wtm_record *r = to; r <= top; r++)
        r->sp = WTM_SP_NONE;
}

void wtm_records_compact(struct wtm_thread *thread)
{
    int locked = wtm_records_lock(thread);
    squeeze(thread);
    wtm_records_unlock(thread, locked);
}

/* A frame that looks left may come back as long as its slot still holds our return point. Only the native stack is sure
 * to be readable; there it is looked at, elsewhere assumed. */
static void remember_way(struct wtm_thread *thread, const struct wtm_record *record)
{
    uint64_t sp = record->sp;
    if (sp <= WTM_SP_ADOPTED || (wtm_on_native(thread, sp) && !wtm_is_return_point(*(const uint64_t *)(sp - 8))))
        return;
    uint64_t function = record->local ? record->local->index + 1u : 0;
    wtm_ways_keep(thread, (struct wtm_way_back){sp, record->return_minus_1, function});
}

void wtm_record_leave(struct wtm_thread *thread, struct wtm_record *record)
{
    remember_way(thread, record);
    close_abnormal(record);
    record->sp = WTM_SP_HOLE;
}

/* Counted by the thread in which it returned. */
void wtm_record_drop_adopted(struct wtm_record *record)
{
    if (record->local)
        unlink_open(record);
    record->sp = WTM_SP_HOLE;
}

void wtm_records_settle(struct wtm_thread *thread, uint64_t sp, int at_stays)
{
    int native = wtm_on_native(thread, sp), holes = 0;
    wtm_abandoned_mend(thread, sp);
    if (thread->busy)
        return;
    wtm_busy_begin(thread);
    struct wtm_record *top = thread->top, *oldest_left = NULL;
    for (struct wtm_record *r = top; r > thread->base; r--) {
        if (wtm_record_was_adopted(r))
            wtm_record_drop_adopted(r);
        if (r->sp == WTM_SP_HOLE)
            holes = 1;
        if (r->sp <= WTM_SP_HOLE)
            continue;
        if (r->sp == sp) {
            if (at_stays)
                continue; /* a chain of tail calls: others may lie below it */
        } else if (r->sp > sp) {
            if (native && wtm_on_native(thread, r->sp))
                break; /* live, and so is all that is older on this stack */
            continue;
        } else if (!native || !wtm_on_native(thread, r->sp)) {
            if (native || wtm_on_native(thread, r->sp) || wtm_stacks_same(sp, r->sp) != 1)
                continue;
        }
        wtm_record_leave(thread, r);
        oldest_left = r;
    }
    if (oldest_left && !native)
        wtm_abandoned_left(thread, oldest_left, sp);
    if (oldest_left || holes)
        wtm_records_compact(thread);
    thread->busy = 0;
}

void wtm_records_abandon(struct wtm_thread *thread)
{
    int known = thread->stack_high != thread->stack_low;
    wtm_abandoned_end(thread);
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (wtm_record_was_adopted(r))
            wtm_record_drop_adopted(r);
        if (r->sp == WTM_SP_HOLE || (known && !wtm_on_native(thread, r->sp)))
            continue; /* a fiber may go on in another thread */
        close_abnormal(r); /* no way back is kept: the stack may be unmapped, and nobody returns to it */
        r->sp = WTM_SP_HOLE;
    }
    wtm_records_compact(thread);
}

void wtm_records_unwound(struct wtm_thread *thread, uint64_t low, uint64_t high)
{
    if (thread->busy)
        return;
    wtm_busy_begin(thread);
    int any = 0;
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp <= WTM_SP_ADOPTED || r->sp < low || r->sp > high || wtm_on_native(thread, r->sp))
            continue;
        wtm_record_leave(thread, r);
        any = 1;
    }
    if (any)
        wtm_records_compact(thread);
    wtm_records_unwound_elsewhere(thread, low, high);
    thread->busy = 0;
}

void wtm_records_release(struct wtm_thread *thread, uint64_t sp, int left)
{
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp < sp || !wtm_on_native(thread, r->sp))
            continue;
        uint64_t *slot = (uint64_t *)(r->sp - 8); /* of a chain of tail calls all records have the same true address */
        if (!wtm_is_return_point(*slot) && *slot != r->return_minus_1 + 1)
            continue;
        *slot = r->return_minus_1 + 1;
        if (r->local && !left) {
            wtm_increment(&r->local->cell->late);
            unlink_open(r);
        }
        close_abnormal(r);
        r->sp = WTM_SP_HOLE;
    }
    wtm_records_compact(thread);
}

void wtm_records_give_back(struct wtm_thread *thread, uint64_t *slot)
{
    uint64_t sp = (uintptr_t)(slot + 1);
    const struct wtm_record *found = wtm_records_raise(thread, sp);
    if (!found)
        return;
    *slot = found->return_minus_1 + 1;
    for (struct wtm_record *r = thread->top; r > thread->base; r--) {
        if (r->sp != sp)
            continue;
        if (r->local) {
            wtm_increment(&r->local->cell->late);
            unlink_open(r);
        }
        r->sp = WTM_SP_HOLE;
    }
    wtm_records_compact(thread);
}

unsigned wtm_records_open(const struct wtm_thread *thread)
{
    unsigned open = 0;
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        open += r->local != NULL;
    return open;
}

const struct wtm_record *wtm_record_popped(const struct wtm_thread *thread, uint64_t sp)
{
    enum { MOST_POPPED = 0xffff }; /* the operand of ret has 16 bits */
    const struct wtm_record *nearest = NULL;
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        if (r->sp > WTM_SP_ADOPTED && r->sp < sp && sp - r->sp <= MOST_POPPED && (!nearest || r->sp > nearest->sp))
            nearest = r;
    return nearest;
}

const struct wtm_record *wtm_record_at(const struct wtm_thread *thread, uint64_t sp)
{
    for (const struct wtm_record *r = thread->top; r > thread->base; r--)
        if (r->sp == sp)
            return r;
    return NULL;
}
