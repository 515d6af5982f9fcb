/* SPDX-License-Identifier: MIT
 * Sorts an array of pointers: libc's qsort allocates and may be what is being patched. Heap sort: in place, n
 * log n for any input, not stable (let the order decide ties). */
#ifndef WTM_COMMON_POINTER_SORT_H
#define WTM_COMMON_POINTER_SORT_H

#include <stddef.h>

/* True when `a` belongs before `b`. */
typedef int wtm_pointer_before(const void *a, const void *b, const void *context);

void wtm_pointer_sort(void **pointers, size_t count, wtm_pointer_before *before, const void *context);

#endif
