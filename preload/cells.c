/* SPDX-License-Identifier: MIT
 * A thread's own part of the profile. Runs in the target inside timed calls: general registers only, no libc. */
#include "preload/cells.h"
#include "common/sys.h"
#include "preload/profile.h"
#include "preload/records.h"
#include <signal.h>
#include <sys/mman.h>
#include <string.h>

enum { EDGES_PER_CHUNK = 42 }; /* 1 KiB */

void wtm_stats_clear(struct wtm_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->min = INT64_MAX;
    stats->max = INT64_MIN;
}

void wtm_stats_wrapped(struct wtm_stats *stats, unsigned bucket)
{
    uint64_t direction = wtm_direction_clear();
    for (unsigned i = 0; i < sizeof stats->wraps / sizeof *stats->wraps; i++) {
        struct wtm_wrap *wrap = &stats->wraps[i];
        if (wrap->times == 0 || wrap->bucket == bucket) {
            wrap->bucket = (uint16_t)bucket;
            wrap->times++;
            break;
        }
    }
    wtm_direction_restore(direction);
}

int wtm_cell_create(struct wtm_thread *thread, const struct wtm_probe *probe, struct wtm_local *local)
{
    struct wtm_cell *cell = wtm_profile_chunk(sizeof *cell);
    if (!cell)
        return -12;
    cell->function = probe->index;
    cell->thread = thread->index;
    cell->steady.min = INT64_MAX;
    cell->steady.max = INT64_MIN;
    wtm_profile_publish(cell, WTM_CHUNK_CELL);
    local->index = probe->index;
    local->cell = cell;
    __atomic_signal_fence(__ATOMIC_RELEASE);
    local->idle = cell;
    return 0;
}

struct wtm_switched *wtm_cell_switched(struct wtm_thread *thread, struct wtm_cell *cell)
{
    if (cell->switched)
        return wtm_profile_at(cell->switched);
    struct wtm_switched *switched = wtm_profile_chunk(sizeof *switched);
    if (!switched)
        return NULL;
    switched->function = cell->function;
    switched->thread = thread->index;
    switched->real.min = switched->run.min = INT64_MAX;
    switched->real.max = switched->run.max = INT64_MIN;
    wtm_profile_publish(switched, WTM_CHUNK_SWITCHED);
    cell->switched = wtm_profile_offset(switched);
    return switched;
}

struct wtm_noise *wtm_cell_noise(struct wtm_thread *thread, struct wtm_cell *cell)
{
    if (cell->noise || !cell->function)
        return cell->noise ? wtm_profile_at(cell->noise) : NULL;
    struct wtm_noise *noise = wtm_profile_chunk(sizeof *noise);
    if (!noise)
        return NULL;
    noise->function = cell->function;
    noise->thread = thread->index;
    wtm_profile_publish(noise, WTM_CHUNK_NOISE);
    cell->noise = wtm_profile_offset(noise);
    return noise;
}

static void clear_noise(struct wtm_noise *noise)
{
    const struct wtm_noise empty = {.chunk = noise->chunk, .function = noise->function, .thread = noise->thread};
    *noise = empty;
}

/* Calls that are open go on, as entered and nothing else. They are known by the counters, not by the records: an entry
 * that a signal interrupted has a record before it is counted, or is counted before its record is complete. */
static void reset_cell(struct wtm_cell *cell, uint64_t nested)
{
    uint64_t closed = cell->steady.calls + cell->abnormal + cell->late;
    struct wtm_switched *switched = cell->switched ? wtm_profile_at(cell->switched) : NULL;
    if (switched)
        closed += switched->real.calls;
    cell->entered = cell->entered > closed ? cell->entered - closed : 0;
    cell->recursive = cell->abnormal = cell->late = 0;
    cell->nested = nested;
    cell->self = cell->subtracted = 0;
    wtm_stats_clear(&cell->steady);
    if (cell->noise)
        clear_noise(wtm_profile_at(cell->noise));
    if (switched) {
        wtm_stats_clear(&switched->real);
        wtm_stats_clear(&switched->run);
    }
}

static void reset_all(struct wtm_thread *thread)
{
    for (uint32_t i = 0; i < thread->local_capacity; i++) {
        struct wtm_local *local = &thread->locals[i];
        if (!local->cell)
            continue;
        reset_cell(local->cell, wtm_hot.nest ? wtm_records_nested(thread, local) : 0);
    }
    for (uint64_t i = 0; i < (uint64_t)1 << (64 - thread->edge_shift); i++) {
        if (thread->edges[i]) {
            thread->edges[i]->calls = 0;
            thread->edges[i]->ticks = 0;
        }
    }
    thread->epoch = __atomic_load_n(&wtm_hot.epoch, __ATOMIC_ACQUIRE);
    if (thread->shared)
        __atomic_store_n(&thread->shared->epoch, thread->epoch, __ATOMIC_RELEASE);
}

/* No signal comes in between: its handler's calls would be counted in a cell that is about to be zeroed. */
void wtm_cells_reset(struct wtm_thread *thread)
{
    uint64_t all = UINT64_MAX, before = 0;
    long blocked = wtm_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof all, 0, 0);
    reset_all(thread);
    if (!wtm_sys_failed(blocked))
        wtm_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

/* Doubles the table. The old one stays mapped: a signal handler may have been reading it. */
static int grow_table(struct wtm_thread *thread)
{
    uint64_t old_size = (uint64_t)1 << (64 - thread->edge_shift), size = old_size * 2;
    if (wtm_process.sandboxed)
        return -12;
    long at = wtm_sys_mmap(NULL, size * sizeof(struct wtm_edge *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
    if (wtm_sys_failed(at))
        return -12;
    struct wtm_edge **grown = (struct wtm_edge **)at;
    for (uint64_t i = 0; i < old_size; i++) {
        struct wtm_edge *edge = thread->edges[i];
        if (!edge)
            continue;
        uint64_t h = wtm_edge_hash(wtm_edge_key(edge->caller, edge->callee), thread->edge_shift - 1);
        while (grown[h])
            h = (h + 1) & (size - 1);
        grown[h] = edge;
    }
    /* A smaller shift with the old table would reach beyond it; a larger one with the new table only misses. */
    thread->edges = grown;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->edge_shift--;
    return 0;
}

static struct wtm_edge *new_edge(struct wtm_thread *thread, uint64_t key)
{
    struct wtm_edges_chunk *chunk = thread->edge_chunk;
    if (!chunk || chunk->count == chunk->capacity) {
        chunk = wtm_profile_chunk(sizeof *chunk + EDGES_PER_CHUNK * sizeof(struct wtm_edge));
        if (!chunk)
            return NULL;
        chunk->thread = thread->index;
        chunk->capacity = EDGES_PER_CHUNK;
        wtm_profile_publish(chunk, WTM_CHUNK_EDGES);
        thread->edge_chunk = chunk;
    }
    struct wtm_edge *edge = &chunk->edges[chunk->count];
    edge->caller = (uint32_t)(key >> 32);
    edge->callee = (uint32_t)key;
    edge->calls = 0;
    edge->ticks = 0;
    __atomic_store_n(&chunk->count, chunk->count + 1, __ATOMIC_RELEASE);
    return edge;
}

static struct wtm_edge *find_or_add(struct wtm_thread *thread, uint64_t key)
{
    uint64_t mask = ((uint64_t)1 << (64 - thread->edge_shift)) - 1;
    uint64_t h = wtm_edge_hash(key, thread->edge_shift);
    for (struct wtm_edge *edge; (edge = thread->edges[h]); h = (h + 1) & mask)
        if (wtm_edge_key(edge->caller, edge->callee) == key)
            return edge;
    if (thread->busy)
        return NULL; /* a signal handler in the midst of another insertion: this edge is not counted */
    wtm_busy_begin(thread);
    struct wtm_edge *edge = NULL;
    if ((thread->edge_count + 1) * 2 <= mask || !grow_table(thread)) {
        edge = new_edge(thread, key);
        if (edge) {
            mask = ((uint64_t)1 << (64 - thread->edge_shift)) - 1;
            h = wtm_edge_hash(key, thread->edge_shift);
            while (thread->edges[h])
                h = (h + 1) & mask;
            thread->edges[h] = edge;
            thread->edge_count++;
        }
    }
    thread->busy = 0;
    return edge;
}

struct wtm_edge *wtm_edge_find(struct wtm_thread *thread, uint64_t key)
{
    uint64_t direction = wtm_direction_clear();
    struct wtm_edge *edge = find_or_add(thread, key);
    wtm_direction_restore(direction);
    return edge;
}
