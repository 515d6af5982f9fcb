/* SPDX-License-Identifier: MIT
 * A thread's own part of the profile: cells, caller-callee edges. Rules of hot.h, except that creating one may enter the
 * kernel for memory. */
#ifndef WTM_PRELOAD_CELLS_H
#define WTM_PRELOAD_CELLS_H

#include "preload/hot.h"

/* The cell of `probe` for this thread, made at its first call. 0, or -ENOMEM. */
int wtm_cell_create(struct wtm_thread *thread, const struct wtm_probe *probe, struct wtm_local *local) WTM_HIDDEN;
/* Where calls with a switch inside are counted; made at the first one. NULL without memory. */
struct wtm_switched *wtm_cell_switched(struct wtm_thread *thread, struct wtm_cell *cell) WTM_HIDDEN;
/* What disturbed the cell's calls; made at need. NULL without memory, or for a cell that is in no profile. */
struct wtm_noise *wtm_cell_noise(struct wtm_thread *thread, struct wtm_cell *cell) WTM_HIDDEN;
/* Zeroes counts after a reset: called by the owner, or when it is gone. Open calls stay counted as entered. Not while code
 * that adds to a cell is interrupted (thread->closing, thread->busy). */
void wtm_cells_reset(struct wtm_thread *thread) WTM_HIDDEN;

/* A call that is counted and runs untimed. In this order: a reset in between takes it for an open one. */
static inline void wtm_cell_count_untimed(struct wtm_cell *cell)
{
    wtm_increment(&cell->entered);
    wtm_increment(&cell->late);
}

void wtm_stats_clear(struct wtm_stats *stats) WTM_HIDDEN;
void wtm_stats_wrapped(struct wtm_stats *stats, unsigned bucket) WTM_HIDDEN;

static inline void wtm_stats_add(struct wtm_stats *stats, int64_t ticks)
{
    stats->calls++;
    stats->sum += ticks;
    unsigned __int128 square = (unsigned __int128)((__int128)ticks * ticks);
    uint64_t low = stats->squares_low + (uint64_t)square;
    stats->squares_high += (uint64_t)(square >> 64) + (low < (uint64_t)square);
    stats->squares_low = low;
    if (WTM_UNLIKELY(ticks < stats->min))
        stats->min = ticks;
    if (WTM_UNLIKELY(ticks > stats->max))
        stats->max = ticks;
    unsigned bucket = wtm_hist_bucket(ticks);
    if (WTM_UNLIKELY(++stats->hist[bucket] == 0))
        wtm_stats_wrapped(stats, bucket);
}

/* Looks further than the first probe, and adds the edge if it is new. NULL when there is no room. */
struct wtm_edge *wtm_edge_find(struct wtm_thread *thread, uint64_t key) WTM_HIDDEN;

static inline uint64_t wtm_edge_key(uint32_t caller, uint32_t callee)
{
    return (uint64_t)caller << 32 | callee;
}
/* Fibonacci hashing (Knuth, TAOCP 6.4): 2^64 / golden ratio. */
static inline uint64_t wtm_edge_hash(uint64_t key, uint64_t shift)
{
    return (key * 0x9e3779b97f4a7c15u) >> shift;
}

#endif
