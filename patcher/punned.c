/* SPDX-License-Identifier: MIT
 * Punned jumps (Chamith, Svensson, Dalessandro and Newton: Instruction punning, PLDI 2017). Fewer than five bytes may
 * change; the last bytes of the jump's displacement are what stands there already and keeps its meaning for whoever
 * comes to it by another way. The stub goes where the displacement then points, if that is free. Redundant prefixes move
 * the displacement on and so give other places to try (Duck, Gao and Roychoudhury: E9Patch, PLDI 2020, tactic T1). */
#include "patcher/plan.h"
#include "patcher/emit.h"
#include "patcher/dictated.h"
#include <string.h>

enum { MOST_CHANGED = 4, TRIED_PAGES = 16 };

/* Bytes that the displacement of a jump behind `prefixes` shares with what stays; each free byte gives it 256 times
 * as many places to point to. */
struct pun {
    uint32_t fixed;      /* the displacement with zeros for the free bytes */
    unsigned free_bytes;
    uintptr_t end;       /* of the jump */
};

static struct pun make_pun(uintptr_t site, unsigned changed, unsigned prefixes)
{
    struct pun pun = {.free_bytes = changed - prefixes - 1, .end = site + prefixes + WTM_JUMP};
    memcpy(&pun.fixed, (const void *)(pun.end - 4), sizeof pun.fixed);
    if (pun.free_bytes)
        pun.fixed &= ~(uint32_t)0 << (8 * pun.free_bytes);
    return pun;
}

/* Walks the places that the pun can point to, page by page, and takes the first free one. */
static uint8_t *take_place(const struct wtm_planner *planner, const struct pun *pun)
{
    uintptr_t low = pun->end + (uintptr_t)(intptr_t)(int32_t)pun->fixed;
    uintptr_t places = (uintptr_t)1 << (8 * pun->free_bytes), step = WTM_PAGE_BYTES;
    const struct wtm_code_range *span = &planner->module->span;
    if (low >= span->start - WTM_PAGE_BYTES && low < span->end + WTM_PAGE_BYTES)
        return NULL;
    if (places > TRIED_PAGES * step)
        step = places / TRIED_PAGES;
    for (uintptr_t offset = 0; offset < places; offset += step) {
        uintptr_t at = low + offset;
        /* within what is free, rather the start of a page, so that one page is enough */
        if (offset && wtm_page_up(at) < low + places)
            at = wtm_page_up(at);
        if (wtm_gap_is_kept(&planner->kept, wtm_page_down(at), wtm_page_up(at + WTM_FAR_JUMP_BYTES)))
            continue;
        uint8_t *code = wtm_dictated_take(at, WTM_FAR_JUMP_BYTES);
        if (code)
            return code;
    }
    return NULL;
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
            struct pun pun = make_pun(site, changed, prefixes);
            plan->dictated = take_place(planner, &pun);
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
