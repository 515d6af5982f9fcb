/* SPDX-License-Identifier: MIT
 * How to return from calls that were closed as left, in case they were not: a coroutine whose stack is a local array, or a
 * program that copies stacks away and back. Rules of hot.h. */
#ifndef WTM_PRELOAD_WAYS_H
#define WTM_PRELOAD_WAYS_H

#include <stddef.h>
#include "preload/hot.h"

struct wtm_way_back {
    uint64_t sp; /* 0: not in use */
    uint64_t return_minus_1;
    uint64_t function; /* index of its probe plus 1, or 0: not counted as left, or no longer */
};

/* Memory that a thread's first table takes, and its making from zeroed memory. */
size_t wtm_ways_bytes(void) WTM_HIDDEN;
void wtm_ways_init(struct wtm_thread *thread, void *memory) WTM_HIDDEN;

/* Keeps the way back of a call of the calling thread; the newest for a stack pointer wins. The table grows, up to 65,536 stack
 * pointers; then, or without memory, one that is not the newest is forgotten. */
void wtm_ways_keep(struct wtm_thread *thread, struct wtm_way_back way) WTM_HIDDEN;

/* For any thread's block: the way back for this stack pointer, or NULL. */
struct wtm_way_back *wtm_ways_find(const struct wtm_thread *thread, uint64_t sp) WTM_HIDDEN;

#endif
