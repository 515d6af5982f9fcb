/* SPDX-License-Identifier: MIT
 * Free address space, by /proc/self/maps. */
#ifndef WTM_PATCHER_GAPS_H
#define WTM_PATCHER_GAPS_H

#include <stddef.h>
#include "patcher/patcher.h"

/* Maps `bytes` rw somewhere in [low, high), as near to `home` as can be, away from where the heap and the first thread's
 * stack grow. The address, or a negative errno. */
long wtm_gap_map(uintptr_t low, uintptr_t high, const struct wtm_code_range *home, size_t bytes);

/* Maps exactly there, rw, if nothing is there yet. The address, or a negative errno. */
long wtm_gap_map_at(uintptr_t at, size_t bytes);

/* What is kept for the heap's and the stack's growth. */
struct wtm_kept {
    struct wtm_code_range heap, stack;
};
void wtm_gap_read_kept(struct wtm_kept *kept);
/* True when [start, end) is kept, or no place for a program's mappings at all. */
int wtm_gap_is_kept(const struct wtm_kept *kept, uintptr_t start, uintptr_t end);

#endif
