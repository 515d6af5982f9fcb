/* SPDX-License-Identifier: MIT
 * Functions whose calls we hear of without timing them: the loader's notification, and those that leave frames without
 * returning through them (throwing and catching an exception, longjmp), move them, tell where stacks are, or look at their caller. Nothing is interposed: their entries are patched like those of
 * timed functions, with a hook that keeps all of the processor's state. */
#ifndef WTM_PRELOAD_WATCH_H
#define WTM_PRELOAD_WATCH_H

#include "patcher/patcher.h"
#include "common/resolve.h"
#include "preload/modules.h"

enum { WTM_WATCHES_PER_OBJECT = 19 };

/* Requests for what is to be watched in an object, at most WTM_WATCHES_PER_OBJECT; they go to the patcher together with
 * those of timed functions, since each call of it scans the object. Gives their number. Start-up, or with the loader's
 * lock held. */
size_t wtm_watch_wanted(const struct wtm_object *object, struct wtm_patch_request *requests) WTM_HIDDEN;
/* Between prepare (not refused) and commit. */
void wtm_watch_prepared(struct wtm_patch_request *request) WTM_HIDDEN;
/* After commit, refused or not. */
void wtm_watch_patched(struct wtm_patch_request *request) WTM_HIDDEN;
/* The hook of a timed function: that of the entry, or, where the function is one that must be watched as well, one that
 * does both; then the probe's flags are set. */
uintptr_t wtm_watch_hook(const struct wtm_target *target, struct wtm_probe *probe) WTM_HIDDEN;
/* The object with this load bias was unmapped. */
void wtm_watch_unloaded(uintptr_t bias) WTM_HIDDEN;

/* 1: the begin of this object's first initializer is heard of. */
int wtm_watch_initializer(const struct wtm_object *object) WTM_HIDDEN;
/* 1: the loader's changes are heard of. */
int wtm_watch_follows_loader(void) WTM_HIDDEN;

#endif
