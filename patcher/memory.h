/* SPDX-License-Identifier: MIT
 * The patcher's own working memory, straight from the kernel: a pool for what lives as long as a batch of patches, and
 * growing arrays for what lives as long as one decision. One thread at a time. */
#ifndef WTM_PATCHER_MEMORY_H
#define WTM_PATCHER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { WTM_PAGE_BYTES = 4096 }; /* x86-64 has no other base page size */

static inline uintptr_t wtm_page_down(uintptr_t address) { return address & ~(uintptr_t)(WTM_PAGE_BYTES - 1); }
static inline uintptr_t wtm_page_up(uintptr_t address) { return wtm_page_down(address + WTM_PAGE_BYTES - 1); }

/* Zeroed pages, NULL when there are none; `bytes` is rounded up. */
void *wtm_pages_take(size_t bytes);
void wtm_pages_give(void *pages, size_t bytes);

struct wtm_pool_chunk;
struct wtm_pool {
    struct wtm_pool_chunk *newest;
};

/* Zeroed, aligned to 16 bytes, NULL when there is no memory; freed only as a whole. */
void *wtm_pool_take(struct wtm_pool *pool, size_t bytes);
void wtm_pool_give(struct wtm_pool *pool);

/* An array of `item_bytes` sized things. Start as {.item_bytes = sizeof(...)}. */
struct wtm_vector {
    void *items;
    size_t item_bytes, count, mapped_bytes;
};

/* Room for one more item at the end (zeroed, counted), NULL when there is no memory. Moves the array. */
void *wtm_vector_push(struct wtm_vector *vector);
void wtm_vector_give(struct wtm_vector *vector);

/* Heap sort: no allocation, no recursion. `compare` as for qsort. */
void wtm_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *left, const void *right));

#endif
