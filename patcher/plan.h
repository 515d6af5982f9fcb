/* SPDX-License-Identifier: MIT
 * Decides how one entry can be patched, or why not, without changing anything. */
#ifndef WTM_PATCHER_PLAN_H
#define WTM_PATCHER_PLAN_H

#include "patcher/extent.h"
#include "patcher/gaps.h"
#include "patcher/patcher.h"
#include "patcher/registry.h"
#include "patcher/relocate.h"
#include "patcher/scan.h"

enum {
    WTM_MOST_LOOPS = 24,
    WTM_JUMP = 5,              /* bytes of jmp rel32 */
    WTM_SCAN_AHEAD = 16,       /* bytes from the site on that a first attempt may change */
    WTM_SCAN_AROUND = 160      /* bytes around the site that a second attempt may change */
};

/* What one prepare works with. */
struct wtm_planner {
    const struct wtm_code_module *module;
    struct wtm_scan scan;
    struct wtm_claims claims;
    struct wtm_kept kept; /* for punned jumps */
};

/* Where the function is. */
struct wtm_place {
    uintptr_t entry, site;
    uintptr_t end;            /* behind its last byte */
    uintptr_t boundary;       /* where something else may begin; padding may lie between `end` and it */
    struct wtm_extent extent; /* all zero when nothing describes it */
    enum wtm_refusal looks;   /* NONE, or how it looks at its return address */
};

struct wtm_plan {
    struct wtm_place place;
    struct wtm_move move;
    enum wtm_patch_method method;
    struct wtm_hit *loops[WTM_MOST_LOOPS]; /* branches to the entry from the same function, outside the window */
    unsigned loop_count, short_loops;
    uintptr_t island;      /* JUMP2: five free bytes that hold the long jump */
    uintptr_t loop_island; /* five bytes that take short loops to the copy: behind the jump, or free ones; or 0 */
    uint8_t running;       /* threads may stand inside: they must find an int3 there, see punned.c */
    uint8_t *dictated;     /* PUNNED: where the jump leads, rw still */
    uint8_t pun_prefixes;  /* PUNNED: redundant prefix bytes before the jump */
    unsigned kept;        /* bytes from the site on that nobody else may change */
};

/* Fills `place`; refuses what is no function's start, is taken already, or looks at its return address. */
enum wtm_refusal wtm_plan_place(const struct wtm_planner *planner, const struct wtm_patch_request *request,
                                struct wtm_place *place);

/* Decodes at least `need` bytes at the site into `plan->move`; padding may be used when `padding` is set (the result is
 * then told by plan->method). */
enum wtm_refusal wtm_plan_window(const struct wtm_planner *planner, struct wtm_plan *plan, unsigned need, int padding);

/* Collects the loops, and refuses when anything but the window leads into the changed bytes behind the first. */
enum wtm_refusal wtm_plan_branches(const struct wtm_planner *planner, struct wtm_plan *plan);

/* Nothing begins in, jumps to or points to [low, high), and nobody claims it. */
int wtm_plan_is_free(const struct wtm_planner *planner, uintptr_t low, uintptr_t high);

/* The ways, in the order in which they are tried; `plan->place` is set. */
enum wtm_refusal wtm_plan_jump5(const struct wtm_planner *planner, struct wtm_plan *plan);
enum wtm_refusal wtm_plan_jump2(const struct wtm_planner *planner, struct wtm_plan *plan);
/* JUMP5 whose short loops find free bytes nearby when ten bytes cannot be displaced. */
enum wtm_refusal wtm_plan_jump5_island(const struct wtm_planner *planner, struct wtm_plan *plan);
/* Takes the memory that the jump leads to: plan->dictated. */
enum wtm_refusal wtm_plan_punned(const struct wtm_planner *planner, struct wtm_plan *plan);
/* Makes what one of the others planned fit for code that runs: a jump over several instructions becomes a punned one, with
 * an int3 wherever a thread can stand. */
enum wtm_refusal wtm_plan_running(const struct wtm_planner *planner, struct wtm_plan *plan);

/* What the displacement of a punned jump must be. */
struct wtm_pun {
    uint32_t fixed, mask; /* fixed: under the mask, which covers whole bytes */
    uintptr_t end;        /* of the jump */
};
/* Takes WTM_FAR_JUMP_BYTES where the pun can point to, trying `tries` new places at most; NULL when there are none. */
uint8_t *wtm_pun_place(const struct wtm_planner *planner, const struct wtm_pun *pun, unsigned tries);

#endif
