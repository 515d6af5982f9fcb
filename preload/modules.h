/* SPDX-License-Identifier: MIT
 * The objects loaded in this process, as common/elf_object.h sees them, and which of them are new or gone since the last
 * look. One thread at a time (start-up, or the loader's lock is held). */
#ifndef WTM_PRELOAD_MODULES_H
#define WTM_PRELOAD_MODULES_H

#include "common/elf_object.h"
#include "preload/hot.h"

struct wtm_modules {
    struct wtm_object *objects; /* known ones first, then new ones */
    size_t count, first_new;
};

/* Looks at what is loaded. Objects that were there at the last wtm_modules_remember() come first. 0 or -ENOMEM. */
int wtm_modules_scan(struct wtm_modules *modules, struct wtm_arena *arena) WTM_HIDDEN;
/* All of `modules` count as known from now on. `gone` is called with the bias of each that is no longer there. */
void wtm_modules_remember(const struct wtm_modules *modules, void (*gone)(uintptr_t bias)) WTM_HIDDEN;

/* Remembers which of the new ones are `unbound`. */
void wtm_modules_await(const struct wtm_modules *modules) WTM_HIDDEN;
/* After a scan: puts the known objects that were `unbound` when they were remembered and are relocated by now last, leaves
 * out the new ones, and gives the index of the first; `count` if there is none. Each is given once. */
size_t wtm_modules_bound(struct wtm_modules *modules) WTM_HIDDEN;

/* Those of the last wtm_modules_remember(), without a call of libc: for signal handlers. Good as long as the loader is
 * consistent and its changes are held up (wtm_install_lock). 0 or -ENOMEM. */
int wtm_modules_recall(struct wtm_modules *modules, struct wtm_arena *arena) WTM_HIDDEN;

/* The function that the loader calls at each change, and where its state stands; 0 when it does not say. */
uintptr_t wtm_modules_notification(void) WTM_HIDDEN;
/* 1 when the loader is not in the midst of a change. */
int wtm_modules_consistent(void) WTM_HIDDEN;
/* Why this copy of the library must stay out: the path of one that was loaded before, or words for a name space without the
 * program (dlmopen). NULL when it is the one. Static text or the loader's. Start-up. */
const char *wtm_modules_other(void) WTM_HIDDEN;
/* Load address of this library. */
uintptr_t wtm_modules_own_address(void) WTM_HIDDEN;

#endif
