/* SPDX-License-Identifier: MIT
 * Pages at dictated addresses, for punned jumps: one or two for each. rw while they are filled, r-x after
 * wtm_near_seal(). One thread at a time. */
#ifndef WTM_PATCHER_DICTATED_H
#define WTM_PATCHER_DICTATED_H

#include <stddef.h>
#include <stdint.h>

/* Where to write `bytes` at `at`, or NULL when something is mapped there, or too many such pages are in use. */
uint8_t *wtm_dictated_take(uintptr_t at, size_t bytes);
/* What was taken at `at` is no longer in use; pages without any use are used anew. */
void wtm_dictated_release(uintptr_t at);

/* Pages that are not sealed yet, one after the other: the next behind `after` (NULL: the first), NULL at the end; `free` is what
 * lies behind all that was taken there. */
struct wtm_code_range;
const void *wtm_dictated_open(const void *after, struct wtm_code_range *free);

/* For near.c. */
int wtm_dictated_seal(void);
int wtm_dictated_owns(uintptr_t address);

#endif
