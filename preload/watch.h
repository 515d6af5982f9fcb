/* SPDX-License-Identifier: MIT
 * Functions whose calls we hear of without timing them: the loader's notification, and those that leave frames without
 * returning through them (catching an exception, longjmp). Nothing is interposed: their entries are patched like those of
 * timed functions, with a hook that keeps all of the processor's state. */
#ifndef WTM_PRELOAD_WATCH_H
#define WTM_PRELOAD_WATCH_H

#include "preload/modules.h"

/* Watches what objects from `first` on define. Start-up, or with the loader's lock held. */
void wtm_watch_objects(const struct wtm_modules *modules, size_t first, int alone, struct wtm_arena *arena) WTM_HIDDEN;
/* The object with this load bias was unmapped. */
void wtm_watch_unloaded(uintptr_t bias) WTM_HIDDEN;

#endif
