/* SPDX-License-Identifier: MIT
 * The hot path's end: closing a call. Runs in the target at every return of a timed function, on the program's stack, with
 * general registers only. It must not call libc, allocate, lock or fault. The hot path's beginning is in trampoline.S.
 *
 * Signals: a handler's timed calls may run between any two instructions here. They use records above the one being
 * closed and other words, but for plain additions, which are single instructions. */
#include "preload/hot.h"
#include "preload/records.h"
#include "preload/cells.h"

struct wtm_hot wtm_hot = {.epoch = 1};
struct wtm_generation_page wtm_generation __attribute__((aligned(4096)));
struct wtm_thread *wtm_threads;

static struct wtm_record no_records[2] = {{.sp = WTM_SP_BASE}, {.sp = WTM_SP_NONE}};
/* Generations of real threads are even, wtm_generation is never 1 or 3. */
struct wtm_thread wtm_no_thread = {.generation = 1, .top = no_records, .base = no_records, .limit = no_records};
struct wtm_thread wtm_muted_thread = {.generation = 3, .top = no_records, .base = no_records, .limit = no_records};
__thread struct wtm_thread *wtm_thread __attribute__((tls_model("initial-exec"))) = &wtm_no_thread;

/* One more edge (caller, callee). Open addressing; the first probe nearly always hits. */
static inline void count_edge(struct wtm_thread *thread, uint32_t caller, uint32_t callee, int64_t ticks)
{
    uint64_t key = wtm_edge_key(caller, callee);
    struct wtm_edge *edge = thread->edges[wtm_edge_hash(key, thread->edge_shift)];
    if (WTM_UNLIKELY(!edge || wtm_edge_key(edge->caller, edge->callee) != key)) {
        edge = wtm_edge_find(thread, key);
        if (!edge)
            return;
    }
    edge->calls++;
    edge->ticks += ticks;
}

static inline __attribute__((always_inline)) void close_record(struct wtm_thread *thread, struct wtm_record *record, uint64_t now,
                                                              struct wtm_record *interrupted)
{
    struct wtm_local *local = record->local;
    struct wtm_cell *cell = local->cell;
    /* Two loads: they were stored as two words, and one load over both would wait until they have left the store buffer. */
    uint64_t start = *(volatile uint32_t *)&record->start_low | (uint64_t) * (volatile uint32_t *)&record->start_high << 32;
    wtm_record_set_place(record, (uintptr_t)interrupted);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->closing = record;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* before anything is added: a reset must see it */
    int64_t cost = (int64_t)(thread->spent_ticks - record->spent_ticks) + wtm_hot.inside_ticks;
    int64_t ticks = (int64_t)(now - start) - cost;
    if (WTM_LIKELY(*thread->switch_word == thread->switch_expected && thread->cpu_offset == record->cpu_offset))
        wtm_stats_add(&cell->steady, ticks);
    else
        wtm_close_switched(thread, record, (int64_t)(now - start), cost);
    cell->self += ticks - record->child_ticks;
    cell->subtracted += cost;
    thread->spent_ticks += (uint64_t)wtm_hot.total_ticks;
    struct wtm_record *caller = record - 1;
    if (WTM_UNLIKELY(caller->sp - record->sp >= WTM_SAME_STACK_BYTES))
        caller = wtm_records_caller(thread, record);
    struct wtm_local *caller_local = caller->local;
    if (caller_local) {
        caller->child_ticks += ticks;
        count_edge(thread, caller_local->index, local->index, ticks);
    }
    if (WTM_LIKELY(local->open == record))
        local->open = record->outer;
    else
        wtm_records_unlink(record); /* coroutines: a newer call of the function is still open */
    local->idle = local->open ? NULL : cell;
    record->local = NULL;
}

/* The call was tail-called: its callers, whose records have the same sp, return with it. What is spent on closing each comes
 * after `now`, so it is no cost within those that are closed after it; but for what lies before the first reading, which is
 * about half of the outside part. */
static __attribute__((noinline, cold)) struct wtm_record *close_chain(struct wtm_thread *thread, struct wtm_record *record,
                                                                      uint64_t now, struct wtm_record *interrupted)
{
    uint64_t sp = record->sp, spent = thread->spent_ticks;
    uint64_t each = (uint64_t)(wtm_hot.inside_ticks + (wtm_hot.total_ticks - wtm_hot.inside_ticks) / 2), within = 0;
    close_record(thread, record, now, interrupted);
    do {
        record->sp = WTM_SP_NONE;
        thread->top = --record;
        within += each;
        if (!record->local)
            continue;
        record->spent_ticks += thread->spent_ticks - spent - within;
        close_record(thread, record, now, interrupted);
    } while (record[-1].sp == sp);
    return record;
}

static inline __attribute__((always_inline)) struct wtm_record *close_top(struct wtm_thread *thread, struct wtm_record *record,
                                                                          uint64_t now)
{
    uint64_t sp = record->sp;
    struct wtm_record *interrupted = thread->closing;
    if (WTM_UNLIKELY(record[-1].sp == sp))
        record = close_chain(thread, record, now, interrupted);
    else
        close_record(thread, record, now, interrupted);
    thread->closing = interrupted;
    return record;
}

struct wtm_record *wtm_close_top(struct wtm_thread *thread, struct wtm_record *record, uint64_t now)
{
    return close_top(thread, record, now);
}

struct wtm_record *wtm_close(uint64_t sp, uint64_t now)
{
    struct wtm_thread *thread = wtm_thread;
    struct wtm_record *record = thread->top;
    if (WTM_UNLIKELY(thread->generation != wtm_generation.value || record->sp != sp || !record->local))
        return wtm_close_slow(thread, sp, now);
    return close_top(thread, record, now);
}
