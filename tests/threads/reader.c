/* SPDX-License-Identifier: MIT
 * The reader of a live profile. Without ThreadSanitizer: it stands for another process. */
#include "common/arena.h"
#include "common/summary.h"
#include "preload/profile.h"
#include <stdlib.h>
#include <string.h>

uint64_t read_counts(uint64_t *counts, size_t count);

/* Calls by function number, which its size tells, and how many were left or have no time. */
uint64_t read_counts(uint64_t *counts, size_t count)
{
    struct wtm_arena arena = {.limit_bytes = 256 << 20};
    struct wtm_profile view;
    struct wtm_summary summary;
    uint64_t stray = 0;
    memset(counts, 0, count * sizeof *counts);
    if (wtm_profile_view(&view))
        abort();
    if (wtm_summary_build(&summary, &view, 1, 1, &arena))
        abort();
    for (size_t i = 0; i < summary.row_count; i++) {
        if (summary.rows[i].size >= count)
            abort();
        counts[summary.rows[i].size] += summary.rows[i].calls;
        stray += summary.rows[i].abnormal + summary.rows[i].late;
    }
    wtm_profile_unview(&view);
    wtm_arena_free(&arena);
    return stray;
}
