/* SPDX-License-Identifier: MIT
 * Open addressing over stack pointers, a few places each. Written by the owning thread alone, read by any. */
#include "preload/ways.h"
#include "common/sys.h"
#include "preload/process.h"
#include <sys/mman.h>

enum { FIRST_LOG2 = 10, MOST_LOG2 = 16, PLACES = 16 };

struct wtm_ways {
    uint64_t shift; /* 64 - log2 of the number of ways */
    uint64_t growing;
    struct wtm_way_back at[];
};

static size_t bytes_of(unsigned log2)
{
    return sizeof(struct wtm_ways) + (sizeof(struct wtm_way_back) << log2);
}

size_t wtm_ways_bytes(void)
{
    return (bytes_of(FIRST_LOG2) + 4095) & ~(size_t)4095;
}

void wtm_ways_init(struct wtm_thread *thread, void *memory)
{
    struct wtm_ways *ways = memory;
    ways->shift = 64 - FIRST_LOG2;
    thread->ways = ways;
}

/* The place for `sp`: where it is, or an empty one; NULL when others have all. */
static struct wtm_way_back *place_of(struct wtm_ways *ways, uint64_t sp)
{
    uint64_t mask = ((uint64_t)1 << (64 - ways->shift)) - 1;
    uint64_t home = ((sp >> 3) * 0x9e3779b97f4a7c15u) >> ways->shift; /* Fibonacci hashing, as in cells.h */
    for (unsigned i = 0; i < PLACES; i++) {
        struct wtm_way_back *way = &ways->at[(home + i) & mask];
        uint64_t there = __atomic_load_n(&way->sp, __ATOMIC_ACQUIRE);
        if (there == sp || !there)
            return way;
    }
    return NULL;
}

static void put(struct wtm_way_back *way, const struct wtm_way_back *what)
{
    __atomic_store_n(&way->return_minus_1, what->return_minus_1, __ATOMIC_RELAXED);
    __atomic_store_n(&way->function, what->function, __ATOMIC_RELAXED);
    __atomic_store_n(&way->sp, what->sp, __ATOMIC_RELEASE);
}

/* The old table stays mapped: others may be reading it. What a signal handler adds to it meanwhile can be lost. */
static int grow(struct wtm_thread *thread)
{
    struct wtm_ways *old = thread->ways;
    unsigned log2 = 64 - (unsigned)old->shift + 1;
    if (log2 > MOST_LOG2 || old->growing || wtm_process.sandboxed)
        return 0;
    old->growing = 1;
    long memory = wtm_sys_mmap(NULL, bytes_of(log2), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (wtm_sys_failed(memory))
        return 0; /* and never again */
    struct wtm_ways *grown = (struct wtm_ways *)memory;
    grown->shift = 64 - log2;
    for (uint64_t i = 0; i < (uint64_t)1 << (64 - old->shift); i++) {
        struct wtm_way_back *place = old->at[i].sp ? place_of(grown, old->at[i].sp) : NULL;
        if (place)
            put(place, &old->at[i]);
    }
    __atomic_store_n(&thread->ways, grown, __ATOMIC_RELEASE);
    return 1;
}

void wtm_ways_keep(struct wtm_thread *thread, struct wtm_way_back way)
{
    struct wtm_way_back *place = place_of(thread->ways, way.sp);
    while (!place && grow(thread))
        place = place_of(thread->ways, way.sp);
    if (!place) { /* the first of the places for it */
        place = &thread->ways->at[((way.sp >> 3) * 0x9e3779b97f4a7c15u) >> thread->ways->shift];
        __atomic_store_n(&place->sp, 0, __ATOMIC_RELEASE);
    }
    put(place, &way);
}

struct wtm_way_back *wtm_ways_find(const struct wtm_thread *thread, uint64_t sp)
{
    struct wtm_ways *ways = __atomic_load_n(&thread->ways, __ATOMIC_ACQUIRE);
    struct wtm_way_back *way = ways ? place_of(ways, sp) : NULL;
    return way && __atomic_load_n(&way->sp, __ATOMIC_ACQUIRE) == sp ? way : NULL;
}
