/* SPDX-License-Identifier: MIT
 * The list of timed functions of this process: probe, patch and its chunk in the profile. One thread at a time, but for
 * wtm_probes_gates. */
#ifndef WTM_PRELOAD_PROBES_H
#define WTM_PRELOAD_PROBES_H

#include "common/resolve.h"
#include "patcher/patcher.h"
#include "preload/hot.h"

/* A probe with its patch, not yet in use; NULL without memory. */
struct wtm_probe *wtm_probes_new(void) WTM_HIDDEN;
/* Gives it an index and a chunk (those it had before, when the same function was unloaded and is back). */
void wtm_probes_describe(struct wtm_probe *probe, const struct wtm_target *target) WTM_HIDDEN;
/* Instead of describing it: the patch leads to a watch of a function that is refused for this reason. */
void wtm_probes_looks(struct wtm_probe *probe, const struct wtm_target *target, enum wtm_refusal reason) WTM_HIDDEN;
/* The reason for which a function at this address is watched so, or NONE. */
enum wtm_refusal wtm_probes_looking_at(uintptr_t address) WTM_HIDDEN;
/* Its patch is in place. */
void wtm_probes_ready(struct wtm_probe *probe) WTM_HIDDEN;
void wtm_probes_drop(struct wtm_probe *probe) WTM_HIDDEN;
/* The timed function at this address, or NULL. */
struct wtm_probe *wtm_probes_at(uintptr_t address) WTM_HIDDEN;
/* The object with this load bias was unmapped. */
void wtm_probes_unloaded(uintptr_t bias) WTM_HIDDEN;
void wtm_probes_gates(int open) WTM_HIDDEN;
/* The next timed function whose name in the report or in the symbol table this is, behind `after` (NULL: from the beginning);
 * `name` NULL: any. NULL: no more. */
struct wtm_probe *wtm_probes_named(const char *name, const struct wtm_probe *after) WTM_HIDDEN;
/* 0 when it was turned off. */
int wtm_probes_is_on(const struct wtm_probe *probe) WTM_HIDDEN;
/* `off`: its gate stays closed, also when all are opened. Takes effect with the next wtm_install_gates(). -EOPNOTSUPP for a
 * function whose calls are watched as well, else 0. */
int wtm_probes_turn(struct wtm_probe *probe, int off) WTM_HIDDEN;
/* After a reset: the first observations of each function are kept anew, where any are. Any thread, signal-safe. */
void wtm_probes_resample(void) WTM_HIDDEN;
/* In a child of fork: the chunks known here are the parent's; none of them is written any more. General registers only. */
void wtm_probes_forked(void) WTM_HIDDEN;

void wtm_probes_refused(const char *name, const char *mangled, const char *module, uintptr_t address, enum wtm_refusal reason) WTM_HIDDEN;
void wtm_probes_missing(const char *pattern, const char *near) WTM_HIDDEN;
/* A library loaded later brought what this pattern means: it is no longer missing. */
void wtm_probes_found(const char *pattern) WTM_HIDDEN;

#endif
