/* SPDX-License-Identifier: MIT
 * Tasks that share the thread pointer of another. Rules of hot.h. */
#ifndef WTM_PRELOAD_GUEST_H
#define WTM_PRELOAD_GUEST_H

#include "preload/hot.h"

/* The calling thread is about to make such a task. Its own block is marked for good: when the last one is gone cannot be known. */
void wtm_guest_expect(void) WTM_HIDDEN;

/* An entry with `owner` as the block of the thread pointer. 0: by the owner itself; 1: by a guest, and counted. */
int wtm_guest_count(const struct wtm_thread *owner, const struct wtm_probe *probe) WTM_HIDDEN;

#endif
