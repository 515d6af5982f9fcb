/* SPDX-License-Identifier: MIT
 * Who else may be running the code that is about to change. */
#ifndef WTM_PRELOAD_COMPANY_H
#define WTM_PRELOAD_COMPANY_H

#include "patcher/patcher.h"
#include "preload/hot.h"

enum wtm_company {
    WTM_COMPANY_NONE = 0,  /* nobody can be in it: a library just loaded, or the program has not begun */
    WTM_COMPANY_STILL = 1, /* one thread, which is at this, with signals blocked: only frames below it may stand in the code */
    WTM_COMPANY_RUNS = 2,  /* other threads run */
};

struct wtm_company_state {
    uint64_t signals; /* that were blocked before */
    int blocked;
};

/* Looks, and readies the patcher (wtm_patch_set_live). With wtm_install_lock() held, or at start. */
enum wtm_company wtm_company_begin(struct wtm_company_state *state) WTM_HIDDEN;
void wtm_company_end(const struct wtm_company_state *state) WTM_HIDDEN;

/* Between prepare and commit: refuses what could end the program because a thread blocks SIGTRAP. */
void wtm_company_hold_back(enum wtm_company company, struct wtm_patch_request *requests, size_t count) WTM_HIDDEN;

#endif
