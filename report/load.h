/* SPDX-License-Identifier: MIT
 * Profiles from files. A file is copied into memory, not mapped: what shrinks or changes underneath must not
 * hurt its reader, and a running process goes on writing. */
#ifndef WTM_REPORT_LOAD_H
#define WTM_REPORT_LOAD_H

#include "common/summary.h"

struct wtm_loaded {
    struct wtm_profile *profiles;
    size_t count;
    struct wtm_arena arena;
    struct wtm_summary summary;
};

/* Reads and sums up `count` files, by `by` (enum wtm_by). 0, or WTM_EXIT_INPUT after a message for each file that cannot be
 * used: none is left out in silence. Of several the others are summed up all the same, and loaded->count is theirs; 0 where
 * there is nothing to print. */
int wtm_load(struct wtm_loaded *loaded, char **paths, size_t count, unsigned by);
void wtm_unload(struct wtm_loaded *loaded);

#endif
