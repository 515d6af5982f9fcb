/* SPDX-License-Identifier: MIT
 * Clock pairs on the way. Readers of a running or killed process's profile get the rate from them, and at the end they are
 * many, spread over the run. When their room is full every other one is dropped and the distance doubled, so a run of any
 * length has 32 to 64 of them. */
#include "preload/clock.h"
#include "preload/process.h"
#include "preload/profile.h"

/* The first at some 30 ms: a run of a second has its 32. */
enum { FIRST_DISTANCE_NS = 31250000 };

static void add_pair(struct wtm_profile_header *header, struct wtm_clock_pair pair)
{
    uint32_t count = header->pair_count;
    if (count == WTM_CLOCK_PAIRS) {
        for (uint32_t i = 0; i < WTM_CLOCK_PAIRS / 2; i++)
            header->pairs[i] = header->pairs[2 * i + 1];
        count = WTM_CLOCK_PAIRS / 2;
        __atomic_store_n(&header->pair_count, count, __ATOMIC_RELEASE);
        header->pair_distance++;
    }
    header->pairs[count] = pair;
    __atomic_store_n(&header->pair_count, count + 1, __ATOMIC_RELEASE);
}

/* One at a time. A fork may have left the word behind, with the parent's number. */
static uint32_t owner;

static int lock(void)
{
    uint32_t seen = __atomic_load_n(&owner, __ATOMIC_RELAXED);
    return seen != wtm_process.pid &&
           __atomic_compare_exchange_n(&owner, &seen, wtm_process.pid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

uint64_t wtm_clock_sample(uint64_t now)
{
    struct wtm_profile_header *header = wtm_profile_header();
    if (!header || wtm_clock.monotonic || wtm_process.sandboxed || wtm_process.tsc_off || header->pair_count > WTM_CLOCK_PAIRS)
        return 0;
    uint32_t count = header->pair_count;
    uint64_t last = count ? header->pairs[count - 1].ticks : header->first.ticks;
    uint64_t distance = wtm_convert(wtm_clock.to_ticks, FIRST_DISTANCE_NS) << (header->pair_distance & 31);
    if ((int64_t)(now - last) < (int64_t)distance || !lock())
        return 0;
    static struct wtm_clock_pair tries[WTM_CLOCK_PAIR_TRIES]; /* the stack may be a coroutine's, of a kilobyte; one at a time */
    struct wtm_clock_pair pair = wtm_clock_pair_in(tries);
    add_pair(header, pair);
    __atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
    return wtm_clock_ticks() - now;
}
