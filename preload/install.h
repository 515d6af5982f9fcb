/* SPDX-License-Identifier: MIT
 * From the user's patterns to patched functions: resolves, patches, and writes functions, refusals and names not found
 * into the profile. Start-up, or with the loader's lock held; one thread at a time. */
#ifndef WTM_PRELOAD_INSTALL_H
#define WTM_PRELOAD_INSTALL_H

#include "common/resolve.h"
#include "preload/hot.h"

/* Start-up: everything that `patterns` name in what is loaded. Gives the number of functions patched, or negative errno. */
int wtm_install_begin(const char *patterns) WTM_HIDDEN;
/* The loader has changed something: times what is new, forgets what is gone. */
void wtm_install_update(void) WTM_HIDDEN;
/* The loader runs the first initializer of an object with IFUNCs to be timed: their bodies are known from now on. */
void wtm_install_bind(void) WTM_HIDDEN;
/* All gates: 1 timed, 0 straight to the bodies. Any thread, signal-safe: who comes while another is at it leaves the rest
 * to that one. */
void wtm_install_arm(int armed) WTM_HIDDEN;
/* All gates as they are to be, after functions were added, or turned on or off. As above. */
void wtm_install_gates(void) WTM_HIDDEN;

/* One thread at a time changes what is timed; others wait. -EBUSY for the one that is at it (a signal handler). Not needed at
 * start-up. */
int wtm_install_lock(void) WTM_HIDDEN;
void wtm_install_unlock(void) WTM_HIDDEN;
/* The same without waiting, for signal handlers. -EAGAIN: somebody is at it, or the loader is. */
int wtm_install_try_lock(void) WTM_HIDDEN;
/* Patches targets in one object of a process that runs, with the lock held. Gives the number of functions timed; `refused`
 * gets the first that was not, with its reason, when it has none yet. */
struct wtm_refused {
    const struct wtm_target *target;
    enum wtm_refusal reason;
};
int wtm_install_live(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count,
                     struct wtm_refused *refused, struct wtm_arena *arena) WTM_HIDDEN;
/* Tells what cannot be timed: in the profile, and on standard error if that was asked for. */
void wtm_install_refuse(const struct wtm_target *target, enum wtm_refusal reason) WTM_HIDDEN;

#endif
