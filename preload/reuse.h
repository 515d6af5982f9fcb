/* SPDX-License-Identifier: MIT
 * Blocks of threads that have ended go to new threads of the same name, with their cells: so a dead thread's counts are those
 * of its name, and memory and profile grow with the threads that live at once, not with all there were. Rules of hot.h. */
#ifndef WTM_PRELOAD_REUSE_H
#define WTM_PRELOAD_REUSE_H

#include "preload/hot.h"

/* A block for the calling thread, whose thread pointer is `fs_base` and whose name is `name`: claimed, its dead owner's calls
 * closed. NULL when there is none. A block that had the same thread pointer is never left with open calls: they would lie on
 * the caller's stack. */
struct wtm_thread *wtm_reuse_block(uint64_t fs_base, const char *name) WTM_HIDDEN;
/* Says whose a block is: the last step of taking it. */
void wtm_reuse_own(struct wtm_thread *thread, uint32_t tid) WTM_HIDDEN;
/* Closes the open calls of the block when its owner is gone. 1 if so. */
int wtm_reuse_bury(struct wtm_thread *thread) WTM_HIDDEN;

/* The calling thread's name; empty where it may not be asked for. */
void wtm_name_own(char name[WTM_NAME_BYTES]) WTM_HIDDEN;
/* The block's owner is called `name` now: tells the profile. */
void wtm_name_set(struct wtm_thread *thread, const char *name) WTM_HIDDEN;

#endif
