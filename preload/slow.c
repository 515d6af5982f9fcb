/* SPDX-License-Identifier: MIT
 * Entries and exits that the straight path leaves to C: a thread's first event, a function's first call, recursion that must
 * be judged, tail calls, other stacks, calls with a switch inside. General registers only; no libc, no locks but that of
 * records_internal.h. */
#include "preload/records_internal.h"
#include "preload/callers.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/guest.h"
#include "preload/profile.h"
#include "preload/special.h"
#include "preload/stacks.h"
#include "preload/thread.h"

/* Is the open call `open` of a function an earlier activation on the stack of an event at sp? */
static int is_recursion(const struct wtm_thread *thread, const struct wtm_record *open, uint64_t sp)
{
    if (open->sp == WTM_SP_NONE) /* a signal came into its entry */
        return 1;
    if (open->sp < sp)
        return 0;
    if (wtm_on_native(thread, sp) != wtm_on_native(thread, open->sp))
        return 0;
    if (wtm_on_native(thread, sp)) { /* a signal between the record's completion and the call finds the true address there */
        uint64_t in_slot = *(const uint64_t *)(open->sp - 8);
        return wtm_is_return_point(in_slot) || in_slot == open->return_minus_1 + 1;
    }
    int same = wtm_stacks_same(sp, open->sp);
    return same >= 0 ? same : open->sp - sp < WTM_SAME_STACK_BYTES;
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

/* As the fast path does, for entries that it leaves to us. */
static enum wtm_entry_action push(struct wtm_thread *thread, struct wtm_local *local, uint64_t sp, uint64_t return_minus_1)
{
    struct wtm_record *record = thread->top + 1;
    if (record >= thread->limit) {
        wtm_cell_count_untimed(local->cell);
        return WTM_ENTRY_BODY;
    }
    wtm_record_set_place(record, sp);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
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
        if (wtm_record_was_adopted(r) && !thread->busy) {
            wtm_record_drop_adopted(r);
            wtm_records_compact(thread);
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
        if (wtm_on_native(thread, sp) && wtm_on_native(thread, r->sp) && !thread->busy) { /* left; its slot has another use by now */
            wtm_record_leave(thread, r);
            wtm_records_compact(thread);
            return WTM_ENTRY_RETRY;
        }
    }
    return WTM_ENTRY_PUSHED;
}

/* What this thread knows of the probe, made at the first call. NULL: RETRY when the thread's state was mended, BODY when the call
 * is none of the program's, or lost for want of memory. */
static struct wtm_local *local_of(const struct wtm_probe *probe, enum wtm_entry_action *action)
{
    struct wtm_thread *thread = wtm_thread;
    *action = WTM_ENTRY_BODY;
    if (thread == &wtm_muted_thread)
        return NULL;
    if (thread->generation != wtm_generation.value) {
        if (thread->has_guests && wtm_generation.value && wtm_guest_count(thread, probe))
            return NULL;
        thread = wtm_thread_sync();
        if (!thread) {
            wtm_profile_lost_call();
            return NULL;
        }
        if (thread->generation == wtm_generation.value) {
            *action = WTM_ENTRY_RETRY;
            return NULL;
        }
    }
    struct wtm_local *local = (struct wtm_local *)((char *)thread->locals + probe->local_offset);
    if (!local->cell) {
        struct wtm_cpu_work work = wtm_cpu_work_begin(thread);
        if (wtm_cell_create(thread, probe, local)) {
            wtm_profile_lost_call();
            return NULL;
        }
        wtm_cpu_work_end(thread, work);
        *action = WTM_ENTRY_RETRY;
        return NULL;
    }
    return local;
}

enum wtm_entry_action wtm_entry_from_outside(uint64_t *slot, struct wtm_probe *probe)
{
    enum wtm_entry_action action;
    struct wtm_local *local;
    if (wtm_callers_outside(*slot))
        return WTM_ENTRY_RETRY;
    do
        local = local_of(probe, &action);
    while (!local && action == WTM_ENTRY_RETRY);
    if (local)
        wtm_cell_count_untimed(local->cell);
    return WTM_ENTRY_BODY;
}

static enum wtm_entry_action enter(uint64_t *slot, struct wtm_probe *probe)
{
    enum wtm_entry_action action;
    struct wtm_local *local = local_of(probe, &action);
    if (!local)
        return action;
    struct wtm_thread *thread = wtm_thread;
    uint64_t sp = (uintptr_t)(slot + 1), return_minus_1 = *slot - 1;
    int tail = wtm_is_return_point(*slot);
    if (thread->top->sp <= sp)
        wtm_records_settle(thread, sp, tail);
    if (!local->idle) {
        action = judge_open(thread, local, sp);
        if (action != WTM_ENTRY_PUSHED)
            return action;
    }
    if (tail) {
        const struct wtm_record *below = wtm_records_raise(thread, sp);
        if (!below) { /* nobody knows its way back: let it pass */
            wtm_cell_count_untimed(local->cell);
            return WTM_ENTRY_BODY;
        }
        return_minus_1 = below->return_minus_1;
    }
    if (*thread->switch_word != thread->switch_expected)
        wtm_cpu_renew(thread);
    return push(thread, local, sp, return_minus_1);
}

enum wtm_entry_action wtm_entry_slow(uint64_t *slot, struct wtm_probe *probe)
{
    if (WTM_LIKELY(!__atomic_load_n(&probe->special, __ATOMIC_RELAXED)))
        return enter(slot, probe);
    uint64_t begin = wtm_clock_ticks();
    const struct wtm_thread *before = wtm_thread;
    uint64_t spent = before->spent_ticks;
    enum wtm_entry_action action;
    do
        action = enter(slot, probe);
    while (action == WTM_ENTRY_RETRY); /* the straight path would not mark the record */
    if (action == WTM_ENTRY_PUSHED)
        wtm_special_open(wtm_thread, probe, begin, before == wtm_thread ? before->spent_ticks - spent : 0);
    return action;
}

/* CPU time can only have stood still while real time went on. Where it seems to have lost more than the whole call took, the
 * thread waited between our own readings, outside the interval: the check of the switch word comes before the first TSC
 * reading and after the second. Then what passed is taken for run. Gives the runtime. */
static int64_t count_switched(struct wtm_thread *thread, struct wtm_cell *cell, int64_t raw, int64_t run, int64_t cost)
{
    int outside = run < -wtm_cpu_noise_ticks();
    struct wtm_switched *switched = outside && wtm_cpu_is_cheap(thread) ? NULL : wtm_cell_switched(thread, cell);
    if (switched) {
        wtm_stats_add(&switched->real, raw - cost);
        if (!wtm_process.sandboxed) /* else its runtime is not known */
            wtm_stats_add(&switched->run, (outside ? raw : run) - cost);
    } else if (outside) {
        wtm_stats_add(&cell->steady, raw - cost);
    } else {
        cell->late++;
    }
    return outside ? raw : run;
}

void wtm_close_switched(struct wtm_thread *thread, struct wtm_record *record, int64_t raw, int64_t cost)
{
    uint64_t direction = wtm_direction_clear();
    int special = wtm_special_marked(record->cpu_offset), known = wtm_cpu_is_known();
    int switched = *thread->switch_word != thread->switch_expected;
    int64_t offset = switched ? wtm_cpu_renew(thread) : thread->cpu_offset, run = raw; /* first: a later wait is not the call's */
    if (special) {
        record->cpu_offset ^= WTM_SPECIAL_MARK;
        wtm_special_end(thread, record);
    }
    if (special && !switched && offset == record->cpu_offset) { /* only marked */
        wtm_stats_add(&record->local->cell->steady, raw - cost);
    } else {
        run = count_switched(thread, record->local->cell, raw, raw + (offset - record->cpu_offset), cost);
        known = !wtm_process.sandboxed;
    }
    if (special)
        wtm_special_close(thread, record, raw - cost, run - cost, known);
    wtm_direction_restore(direction);
}

struct wtm_record *wtm_close_slow(struct wtm_thread *thread, uint64_t sp, uint64_t now)
{
    uint64_t direction = wtm_direction_clear();
    if (thread->generation != wtm_generation.value) {
        struct wtm_thread *synced = wtm_thread_sync();
        if (synced)
            thread = synced;
    }
    const struct wtm_record *popped = wtm_record_at(thread, sp) ? NULL : wtm_record_popped(thread, sp);
    if (popped && wtm_records_know(thread, sp))
        popped = NULL;
    struct wtm_record *record = wtm_records_raise(thread, popped ? popped->sp : sp);
    if (!record) {
        wtm_profile_stranded();
        record = thread->top;
    } else if (record->local) { /* else counted already: adopted, or closed and then interrupted */
        record = wtm_close_top(thread, record, now);
    }
    wtm_direction_restore(direction);
    return record;
}
