/* SPDX-License-Identifier: MIT
 * Memory for work that begins and ends as a whole (reading symbols, matching patterns, making a table), straight from
 * the kernel: inside a target malloc may be what is being patched.
 *
 * An arena is a chain of blocks; allocation moves a pointer; nothing is freed before the whole.
 * Life: `struct wtm_arena a = {0}; ... wtm_arena_alloc(&a, n) ...; wtm_arena_free(&a);`
 * One thread at a time for one arena. Signal-safe as far as the arena itself is not shared with the handler. */
#ifndef WTM_COMMON_ARENA_H
#define WTM_COMMON_ARENA_H

#include <stddef.h>

struct wtm_arena_block;
struct wtm_arena {
    struct wtm_arena_block *first; /* newest block */
    size_t limit_bytes;            /* 0: none; else allocation fails once this much was taken */
    size_t taken_bytes;            /* from the kernel, all blocks */
};

/* Zeroed memory, aligned to 16 bytes; NULL when there is none. `bytes` 0 gives a valid, unique pointer. */
void *wtm_arena_alloc(struct wtm_arena *arena, size_t bytes);
/* A copy of `length` bytes with a NUL behind it; NULL when there is no memory. */
char *wtm_arena_string(struct wtm_arena *arena, const char *text, size_t length);
/* One block that holds `bytes`: what is then allocated up to that takes nothing from the kernel. 0 or -ENOMEM. */
int wtm_arena_reserve(struct wtm_arena *arena, size_t bytes);
/* Gives everything back; the arena can be used again. */
void wtm_arena_free(struct wtm_arena *arena);

#endif
