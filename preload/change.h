/* SPDX-License-Identifier: MIT
 * Timing and untiming functions of a process that runs: what wtmtime.h and requests from outside have in common. Nothing
 * that is called here is counted, and no libc function is entered that may be timed. Results as in wtmtime.h. */
#ifndef WTM_PRELOAD_CHANGE_H
#define WTM_PRELOAD_CHANGE_H

#include "preload/install.h"
#include "preload/modules.h"
#include "preload/probes.h"

struct wtm_change {
    struct wtm_thread *before;
    struct wtm_arena arena;
    struct wtm_modules modules;
    struct wtm_refused refused; /* the first that could not be timed */
    const char *near;           /* names like one that was not found, or NULL */
    int in_handler;
};

/* Takes the lock and looks at what is loaded. `in_handler`: does not wait, and gives -EAGAIN where it had to. After an error
 * only wtm_change_end() is possible, which gives its second argument. */
int wtm_change_begin(struct wtm_change *change, int in_handler) WTM_HIDDEN;
int wtm_change_end(struct wtm_change *change, int result) WTM_HIDDEN;

int wtm_change_time(struct wtm_change *change, const char *pattern) WTM_HIDDEN;
int wtm_change_time_targets(struct wtm_change *change, const struct wtm_target *targets, size_t count) WTM_HIDDEN;
/* By names as the report has them, or by pattern. */
int wtm_change_untime(struct wtm_change *change, const char *name) WTM_HIDDEN;
/* 1, or 0 with the reason in `result`. */
int wtm_change_turn_off(struct wtm_probe *probe, int *result) WTM_HIDDEN;

#endif
