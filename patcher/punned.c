/* SPDX-License-Identifier: MIT
 * Punned jumps (Chamith, Svensson, Dalessandro and Newton: Instruction punning, PLDI 2017). Fewer than five bytes may
 * change; the last bytes of the jump's displacement are what stands there already and keeps its meaning for whoever
 * comes to it by another way. The stub goes where the displacement then points, if that is free. Redundant prefixes move
 * the displacement on and so give other places to try (Duck, Gao and Roychoudhury: E9Patch, PLDI 2020, tactic T1).
 *
 * Code that runs: a thread may stand in front of any instruction of the window, also for long (preempted, in a signal
 * handler). Wherever that is inside the changed bytes, the displacement gets an int3 at that place (Chamith and others use
 * such traps for the same purpose): the thread goes on in the relocated copy, whenever it comes. */
#include "patcher/plan.h"
#include <string.h>

enum { MOST_CHANGED = 4, TRIES = 16, TRIES_RUNNING = 64, TRAP = 0xcc };

/* Bytes that the displacement of a jump behind `prefixes` shares with what stays; each free byte gives it 256 times
 * as many places to point to. */
static struct wtm_pun make_pun(uintptr_t site, unsigned changed, unsigned prefixes)
{
    struct wtm_pun pun = {.end = site + prefixes + WTM_JUMP};
    unsigned free_bytes = changed - prefixes - 1;
    if (free_bytes < 4) {
        memcpy(&pun.fixed, (const void *)(pun.end - 4), sizeof pun.fixed);
        pun.mask = ~(uint32_t)0 << (8 * free_bytes);
        pun.fixed &= pun.mask;
    }
    return pun;
}

/* Where threads run, each place in the changed bytes at which one can stand must hold an int3. Not 0 when it cannot be so:
 * such a place lies before the displacement. */
static int add_traps(const struct wtm_plan *plan, unsigned prefixes, struct wtm_pun *pun)
{
    uintptr_t displacement = pun->end - 4, site = plan->place.site;
    for (unsigned i = 1; i < plan->move.count && plan->move.insns[i].address < site + plan->move.changed; i++) {
        uintptr_t at = plan->move.insns[i].address;
        if (at < displacement)
            return -1;
        pun->mask |= (uint32_t)0xff << (8 * (at - displacement));
        pun->fixed |= (uint32_t)TRAP << (8 * (at - displacement));
    }
    return 0;
}

/* The bytes that only stay as they are must exist, and nobody may change them later or have changed them. */
static int tail_is_ours(const struct wtm_planner *planner, uintptr_t from, uintptr_t to)
{
    uintptr_t text_end = wtm_module_text_end(planner->module, from - 1);
    return to <= text_end && !wtm_claims_has(&planner->claims, from, to);
}

enum wtm_refusal wtm_plan_punned(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    uintptr_t site = plan->place.site;
    enum wtm_refusal first = WTM_REFUSED_TOO_SHORT;
    plan->island = plan->loop_island = 0;
    for (unsigned changed = MOST_CHANGED; changed >= 1; changed--) {
        enum wtm_refusal refusal = wtm_plan_window(planner, plan, changed, 0);
        if (refusal == WTM_REFUSED_NONE)
            refusal = wtm_plan_branches(planner, plan);
        if (refusal == WTM_REFUSED_NONE && plan->short_loops)
            refusal = WTM_REFUSED_SHORT_LOOP;
        if (refusal == WTM_REFUSED_NONE)
            refusal = wtm_relocate_size(&plan->move, &refusal) ? WTM_REFUSED_NONE : refusal;
        first = refusal != WTM_REFUSED_NONE ? refusal : first;
        for (unsigned prefixes = 0; refusal == WTM_REFUSED_NONE && prefixes < changed; prefixes++) {
            unsigned kept = prefixes + WTM_JUMP;
            if (!tail_is_ours(planner, site + changed, site + kept))
                break;
            struct wtm_pun pun = make_pun(site, changed, prefixes);
            if (plan->running && add_traps(plan, prefixes, &pun))
                break;
            plan->dictated = wtm_pun_place(planner, &pun, TRIES);
            if (!plan->dictated)
                continue;
            plan->method = WTM_PATCH_PUNNED;
            plan->pun_prefixes = (uint8_t)prefixes;
            plan->kept = kept;
            return WTM_REFUSED_NONE;
        }
    }
    return first;
}

enum wtm_refusal wtm_plan_running(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    uintptr_t site = plan->place.site;
    struct wtm_pun pun = make_pun(site, WTM_JUMP, 0);
    if (plan->method == WTM_PATCH_PUNNED)
        return WTM_REFUSED_NONE;
    if (plan->move.count == 1 || plan->move.insns[1].address >= site + plan->move.changed)
        return WTM_REFUSED_NONE; /* nobody can stand inside */
    if (plan->move.changed != WTM_JUMP || add_traps(plan, 0, &pun))
        return WTM_REFUSED_BUSY;
    enum wtm_refusal refusal;
    if (!wtm_relocate_size(&plan->move, &refusal))
        return refusal;
    plan->dictated = wtm_pun_place(planner, &pun, TRIES_RUNNING);
    if (!plan->dictated)
        return WTM_REFUSED_NO_NEAR_MEMORY;
    plan->method = WTM_PATCH_PUNNED;
    plan->pun_prefixes = 0;
    return WTM_REFUSED_NONE;
}
