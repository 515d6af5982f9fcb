/* SPDX-License-Identifier: MIT
 * Arena over anonymous mappings. */
#include "common/arena.h"
#include "common/sys.h"
#include <string.h>
#include <sys/mman.h>

enum { FIRST_BLOCK_BYTES = 64 * 1024, BLOCK_BYTES = 256 * 1024, ALIGNMENT = 16 };

struct wtm_arena_block {
    struct wtm_arena_block *older;
    size_t bytes; /* whole mapping */
    size_t used;  /* header included */
    size_t padding;
};
_Static_assert(sizeof(struct wtm_arena_block) % ALIGNMENT == 0, "the first allocation must be aligned");

static struct wtm_arena_block *new_block(struct wtm_arena *arena, size_t payload)
{
    size_t bytes = arena->first ? BLOCK_BYTES : FIRST_BLOCK_BYTES;
    if (payload > bytes - sizeof(struct wtm_arena_block)) {
        if (payload > (size_t)1 << 46)
            return NULL;
        bytes = (payload + sizeof(struct wtm_arena_block) + 4095) & ~(size_t)4095;
    }
    if (arena->limit_bytes && arena->taken_bytes + bytes > arena->limit_bytes)
        return NULL;
    /* The first block is mostly used whole, and one call is cheaper than a fault for each page. */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (bytes == FIRST_BLOCK_BYTES ? MAP_POPULATE : 0);
    long at = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (wtm_sys_failed(at))
        return NULL;
    struct wtm_arena_block *block = (struct wtm_arena_block *)at;
    block->older = arena->first;
    block->bytes = bytes;
    block->used = sizeof *block;
    arena->first = block;
    arena->taken_bytes += bytes;
    return block;
}

void *wtm_arena_alloc(struct wtm_arena *arena, size_t bytes)
{
    if (bytes > (size_t)1 << 46)
        return NULL;
    size_t need = bytes ? (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
    struct wtm_arena_block *block = arena->first;
    if (!block || block->bytes - block->used < need) {
        block = new_block(arena, need);
        if (!block)
            return NULL;
    }
    void *result = (char *)block + block->used;
    block->used += need;
    return result;
}

int wtm_arena_reserve(struct wtm_arena *arena, size_t bytes)
{
    return new_block(arena, bytes) ? 0 : -12;
}

char *wtm_arena_string(struct wtm_arena *arena, const char *text, size_t length)
{
    char *copy = length + 1 ? wtm_arena_alloc(arena, length + 1) : NULL;
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void wtm_arena_free(struct wtm_arena *arena)
{
    for (struct wtm_arena_block *block = arena->first, *older; block; block = older) {
        older = block->older;
        wtm_sys_munmap(block, block->bytes);
    }
    arena->first = NULL;
    arena->taken_bytes = 0;
}
