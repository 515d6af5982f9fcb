/* SPDX-License-Identifier: MIT
 * The cost of measuring. General registers only: its calls must not differ from a program's.
 *
 * An empty function is called in batches through a stub of the same shape as the patcher's (the instructions are those of
 * patcher.h), under an open caller, so that caller-callee edges are counted as well. Of the batches' means the lower
 * quartile is taken: interruptions only ever add. The distance between the quartiles tells how far to trust it.
 *   inside    = mean of the raw interval of an empty call - bare loop per call: so what an untimed call takes, with its call and
 *               return, is the function's time, and an empty function's mean is that rather than zero
 *   outside   = (timed loop - bare loop) per call - inside
 * Where the CPU clock is read at each call, that is part of outside; it is subtracted as it happens, though, so what is
 * subtracted per call (wtm_hot) is without it.
 *   recursive = (recursive loop - bare loop) per call */
#include "preload/cost.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/profile.h"
#include "preload/records_internal.h"
#include "preload/thread.h"
#include <string.h>

enum { BATCHES = 48, BATCHES_AGAIN = 16, CALLS = 64, FRACTION = 256 };

WTM_HIDDEN extern struct wtm_probe wtm_cost_probe;
WTM_HIDDEN extern uintptr_t wtm_cost_gate, wtm_cost_hook;
extern const char wtm_cost_body[] WTM_HIDDEN, wtm_cost_armed[] WTM_HIDDEN;
void wtm_cost_timed(void) WTM_HIDDEN;
void wtm_cost_bare(void) WTM_HIDDEN;
struct wtm_probe wtm_cost_probe;
uintptr_t wtm_cost_gate;
uintptr_t wtm_cost_hook;

__asm__(".text\n\t.balign 64\n"
        ".globl wtm_cost_bare\n.hidden wtm_cost_bare\n.type wtm_cost_bare, @function\nwtm_cost_bare:\n"
        "\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tret\n"
        "\t.balign 64\n"
        ".globl wtm_cost_timed\n.hidden wtm_cost_timed\n.type wtm_cost_timed, @function\nwtm_cost_timed:\n"
        "\tjmp 1f\n"
        "2:\tret\n"
        "\t.balign 64\n"
        "1:\tjmp *wtm_cost_gate(%rip)\n"
        ".globl wtm_cost_armed\n.hidden wtm_cost_armed\nwtm_cost_armed:\n"
        "\tmov %r11, -16(%rsp)\n\tlea wtm_cost_probe(%rip), %r11\n\tjmp *wtm_cost_hook(%rip)\n"
        "\t.balign 16\n"
        ".globl wtm_cost_body\n.hidden wtm_cost_body\nwtm_cost_body:\n"
        "\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tjmp 2b\n");

static uint64_t loop(void (*function)(void))
{
    uint64_t begin = wtm_clock_ticks();
    for (int i = 0; i < CALLS; i++)
        function();
    return wtm_clock_ticks() - begin;
}

static void sort(int64_t *values, int count)
{
    for (int i = 1; i < count; i++) {
        int64_t v = values[i];
        int j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
}

/* Lower quartile, and half the distance to the upper one. */
static int32_t steady(int64_t *values, int count, int32_t *spread)
{
    sort(values, count);
    *spread = (int32_t)((values[count * 3 / 4] - values[count / 4]) / 2);
    return (int32_t)values[count / 4];
}

static int64_t per_call(int64_t ticks)
{
    return ticks * FRACTION / CALLS;
}

/* Raw realtime of the calls so far: those with a switch inside are in the second chunk. */
static int64_t sum_of(const struct wtm_cell *cell)
{
    const struct wtm_switched *switched = cell->switched ? wtm_profile_at(cell->switched) : NULL;
    return cell->steady.sum + (switched ? switched->real.sum : 0);
}

struct setup {
    struct wtm_thread *thread;
    struct wtm_local caller;
    struct wtm_cell caller_cell, cell;
    struct wtm_edge edge, **edge_at, *edge_before;
    struct wtm_record *record;
};

/* An open call, as if a timed function were running, and edges that are in no profile. `slot`: on the stack, above the
 * calls that are measured; it looks like that of an open call to the recursion check. */
static void set_up(struct setup *s, struct wtm_local *local, volatile uint64_t *slot)
{
    struct wtm_thread *thread = s->thread;
    wtm_stats_clear(&s->cell.steady);
    local->cell = local->idle = &s->cell;
    s->caller.cell = &s->caller_cell;
    slot[0] = wtm_clock.monotonic ? (uintptr_t)wtm_return_clocked : (uintptr_t)wtm_return_point;
    s->edge_at = &thread->edges[wtm_edge_hash(0, thread->edge_shift)];
    s->edge_before = *s->edge_at;
    *s->edge_at = &s->edge;
    s->record = ++thread->top;
    *s->record = (struct wtm_record){.sp = (uintptr_t)(slot + 1), .local = &s->caller, .cpu_offset = thread->cpu_offset};
}

static void take_down(struct setup *s, struct wtm_local *local)
{
    *s->edge_at = s->edge_before;
    s->record->local = NULL;
    s->record->sp = WTM_SP_NONE;
    s->thread->top--;
    memset(local, 0, sizeof *local);
}

static int32_t renewal_cost; /* a call, as of the last measurement */

/* What is subtracted meanwhile is added back: other threads may be timing with it. */
static struct wtm_cost measure(int batches)
{
    static struct setup s; /* 10 KiB: not on the program's stack */
    volatile uint64_t slot[1];
    int64_t inside[BATCHES], whole[BATCHES], recursive[BATCHES], renewals[BATCHES];
    int32_t ignored;
    struct wtm_cost cost = {.batches = (uint32_t)batches, .calls_per_batch = CALLS};
    memset(&s, 0, sizeof s);
    s.thread = wtm_thread;
    struct wtm_local *local = &s.thread->locals[0]; /* index 0 is no function's */
    uint64_t spent = s.thread->spent_ticks;
    wtm_cost_probe.body = (uintptr_t)wtm_cost_body;
    wtm_cost_gate = (uintptr_t)wtm_cost_armed;
    wtm_cost_hook = wtm_timed_entry;
    set_up(&s, local, slot);
    loop(wtm_cost_timed);
    loop(wtm_cost_bare);
    for (int i = 0; i < batches; i++) {
        int64_t bare = (int64_t)loop(wtm_cost_bare);
        int64_t before = sum_of(&s.cell);
        uint64_t spent_before = s.thread->spent_ticks;
        whole[i] = per_call((int64_t)loop(wtm_cost_timed) - bare);
        inside[i] = per_call(sum_of(&s.cell) - before - bare) + wtm_hot.inside_ticks * FRACTION;
        renewals[i] = per_call((int64_t)(s.thread->spent_ticks - spent_before));
        local->idle = NULL;
        local->open = s.record;
        recursive[i] = per_call((int64_t)loop(wtm_cost_timed) - bare);
        local->open = NULL;
        local->idle = local->cell;
    }
    take_down(&s, local);
    s.thread->spent_ticks = spent;
    cost.inside = steady(inside, batches, &cost.spread_inside);
    cost.outside = steady(whole, batches, &cost.spread_outside) - cost.inside;
    cost.recursive = steady(recursive, batches, &cost.spread_recursive);
    renewal_cost = steady(renewals, batches, &ignored);
    return cost;
}

struct wtm_cost wtm_cost_measure(void)
{
    struct wtm_cost cost = measure(BATCHES);
    wtm_hot.inside_ticks = (cost.inside + FRACTION / 2) / FRACTION;
    wtm_hot.total_ticks = (cost.inside + cost.outside - renewal_cost + FRACTION / 2) / FRACTION;
    wtm_hot.recursive_ticks = (cost.recursive + FRACTION / 2) / FRACTION;
    return cost;
}

int wtm_cost_again(struct wtm_cost *cost)
{
    struct wtm_thread *thread = wtm_thread_sync();
    uint64_t here = (uintptr_t)__builtin_frame_address(0);
    /* The program may end anywhere: on a coroutine's stack, or in a handler that interrupted work of ours. */
    if (!thread || thread->busy || thread->closing || !wtm_on_native(thread, here) || thread->top + 4 >= thread->limit)
        return -16; /* EBUSY */
    wtm_cpu_renew(thread);
    *cost = measure(BATCHES_AGAIN);
    return 0;
}
