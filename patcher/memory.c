/* SPDX-License-Identifier: MIT
 * Pages, pools, growing arrays and a sort, none of which enters libc. */
#include "patcher/memory.h"
#include "common/sys.h"
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16, FIRST_VECTOR_BYTES = 16 * 1024 };

struct wtm_pool_chunk {
    struct wtm_pool_chunk *older;
    size_t bytes, used;
    size_t padding;
};

/* A few small mappings that were given back, for the next one that wants as much: one batch takes and gives some dozen of
 * two sizes, and each munmap costs more than clearing them. For one thread at a time, as all of the patcher is. */
enum { KEPT = 6 };
static struct {
    void *pages;
    size_t bytes;
} spare[KEPT];

static void *take_kept(size_t bytes)
{
    for (int i = 0; i < KEPT; i++) {
        if (!spare[i].pages || spare[i].bytes != bytes)
            continue;
        void *pages = spare[i].pages;
        spare[i].pages = NULL;
        memset(pages, 0, bytes);
        return pages;
    }
    return NULL;
}

static int keep(void *pages, size_t bytes)
{
    for (int i = 0; i < KEPT && bytes <= CHUNK_BYTES; i++) {
        if (spare[i].pages)
            continue;
        spare[i].pages = pages;
        spare[i].bytes = bytes;
        return 1;
    }
    return 0;
}

void *wtm_pages_take(size_t bytes)
{
    if (bytes > (size_t)1 << 46)
        return NULL;
    void *old = take_kept(wtm_page_up(bytes));
    if (old)
        return old;
    /* Small ones are used whole, and one call is cheaper than a fault for each page. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (bytes <= CHUNK_BYTES ? MAP_POPULATE : 0);
    long at = wtm_sys_mmap(NULL, wtm_page_up(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
    return wtm_sys_failed(at) ? NULL : (void *)at;
}

void wtm_pages_give(void *pages, size_t bytes)
{
    if (pages && !keep(pages, wtm_page_up(bytes)))
        wtm_sys_munmap(pages, wtm_page_up(bytes));
}

void *wtm_pool_take(struct wtm_pool *pool, size_t bytes)
{
    if (bytes > (size_t)1 << 46)
        return NULL;
    size_t need = (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
    struct wtm_pool_chunk *chunk = pool->newest;
    if (!chunk || chunk->bytes - chunk->used < need) {
        size_t size = need + sizeof *chunk > CHUNK_BYTES ? wtm_page_up(need + sizeof *chunk) : CHUNK_BYTES;
        chunk = wtm_pages_take(size);
        if (!chunk)
            return NULL;
        chunk->older = pool->newest;
        chunk->bytes = size;
        chunk->used = sizeof *chunk;
        pool->newest = chunk;
    }
    void *result = (char *)chunk + chunk->used;
    chunk->used += need;
    return result;
}

void wtm_pool_give(struct wtm_pool *pool)
{
    struct wtm_pool_chunk *chunk = pool->newest;
    pool->newest = NULL; /* first: the pool itself may lie in one of its chunks */
    while (chunk) {
        struct wtm_pool_chunk *older = chunk->older;
        wtm_pages_give(chunk, chunk->bytes);
        chunk = older;
    }
}

static int vector_grow(struct wtm_vector *vector)
{
    size_t bytes = vector->mapped_bytes ? 2 * vector->mapped_bytes : FIRST_VECTOR_BYTES;
    void *items;
    if (!vector->items) {
        items = wtm_pages_take(bytes);
        if (!items)
            return -1;
    } else {
        long at = wtm_syscall6(SYS_mremap, (long)vector->items, (long)vector->mapped_bytes, (long)bytes,
                               MREMAP_MAYMOVE, 0, 0);
        if (wtm_sys_failed(at))
            return -1;
        items = (void *)at;
    }
    vector->items = items;
    vector->mapped_bytes = bytes;
    return 0;
}

void *wtm_vector_push(struct wtm_vector *vector)
{
    if ((vector->count + 1) * vector->item_bytes > vector->mapped_bytes && vector_grow(vector) < 0)
        return NULL;
    return (char *)vector->items + vector->item_bytes * vector->count++;
}

void wtm_vector_give(struct wtm_vector *vector)
{
    wtm_pages_give(vector->items, vector->mapped_bytes);
    vector->items = NULL;
    vector->count = vector->mapped_bytes = 0;
}

static void swap(char *left, char *right, size_t bytes)
{
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), left += 8, right += 8) {
        uint64_t l, r;
        memcpy(&l, left, sizeof l);
        memcpy(&r, right, sizeof r);
        memcpy(left, &r, sizeof r);
        memcpy(right, &l, sizeof l);
    }
    for (; bytes; bytes--, left++, right++) {
        char kept = *left;
        *left = *right;
        *right = kept;
    }
}

static void sift(char *items, size_t at, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare(items + child * bytes, items + (child + 1) * bytes) < 0)
            child++;
        if (compare(items + at * bytes, items + child * bytes) >= 0)
            return;
        swap(items + at * bytes, items + child * bytes, bytes);
    }
}

void wtm_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *left, const void *right))
{
    char *base = items;
    size_t sorted = 1;
    while (sorted < count && compare(base + sorted * item_bytes, base + (sorted - 1) * item_bytes) >= 0)
        sorted++;
    if (sorted >= count) /* symbol tables often come in order already */
        return;
    for (size_t at = count / 2; at-- > 0;)
        sift(base, at, count, item_bytes, compare);
    for (size_t left = count; left-- > 1;) {
        swap(base, base + left * item_bytes, item_bytes);
        sift(base, 0, left, item_bytes, compare);
    }
}
