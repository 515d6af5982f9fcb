/* SPDX-License-Identifier: MIT
 * What a module's unwind tables and symbols tell of where functions begin and end. All reads stay within the ranges that
 * the module names as readable. Any thread. */
#ifndef WTM_PATCHER_EXTENT_H
#define WTM_PATCHER_EXTENT_H

#include "patcher/patcher.h"

struct wtm_extent {
    uintptr_t start, end; /* of the code that one FDE describes */
    uintptr_t lsda;       /* its exception table, or 0 */
};

/* True when [at, at + bytes) is readable memory of the module. */
int wtm_module_readable(const struct wtm_code_module *module, uintptr_t at, size_t bytes);
/* The end of the executable range that holds `address`, 0 when there is none. */
uintptr_t wtm_module_text_end(const struct wtm_code_module *module, uintptr_t address);

/* The FDE with the greatest start at or below `address`: 0, or -1 when there is none. `address` may lie behind its end. */
int wtm_extent_find(const struct wtm_code_module *module, uintptr_t address, struct wtm_extent *extent);
/* The next FDE's start above `address`, 0 when there is none. */
uintptr_t wtm_extent_next(const struct wtm_code_module *module, uintptr_t address);

/* Symbols: the first start above `address` (0: none), the last one at or below it (0: none). */
uintptr_t wtm_start_after(const struct wtm_code_module *module, uintptr_t address);
uintptr_t wtm_start_before(const struct wtm_code_module *module, uintptr_t address);

/* Some value of the sorted array lies in [low, high). */
int wtm_sorted_has(const uintptr_t *sorted, size_t count, uintptr_t low, uintptr_t high);

/* An exception table sends control into [low, high). */
int wtm_landing_inside(const struct wtm_code_module *module, const struct wtm_extent *extent, uintptr_t low,
                       uintptr_t high);

#endif
