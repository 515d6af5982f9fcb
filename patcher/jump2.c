/* SPDX-License-Identifier: MIT
 * Five free bytes near a function that has none of its own: padding between functions, which linkers and compilers leave
 * for alignment. The island holds the long jump; two bytes at the site, or the loops' short branches, lead to it. */
#include "patcher/plan.h"
#include "patcher/flow.h"

enum { REACH_BACK = 128, REACH_AHEAD = 127 };

/* Where an island may begin. */
struct reach {
    uintptr_t low, high; /* both included */
};

static void narrow(struct reach *reach, uintptr_t branch_end)
{
    if (branch_end - REACH_BACK > reach->low)
        reach->low = branch_end - REACH_BACK;
    if (branch_end + REACH_AHEAD < reach->high)
        reach->high = branch_end + REACH_AHEAD;
}

static uintptr_t next_start(const struct wtm_code_module *module, uintptr_t address)
{
    uintptr_t symbol = wtm_start_after(module, address), described = wtm_extent_next(module, address);
    uintptr_t end = wtm_module_text_end(module, address);
    uintptr_t next = symbol && symbol < end ? symbol : end;
    return described && described < next ? described : next;
}

static uintptr_t free_place(const struct wtm_planner *planner, uintptr_t begin, uintptr_t boundary,
                            const struct reach *reach, uintptr_t taken)
{
    uintptr_t at = begin > reach->low ? begin : reach->low;
    for (; at <= reach->high && at + WTM_JUMP <= boundary; at++)
        if (!(at < taken + WTM_JUMP && taken < at + WTM_JUMP) && wtm_plan_is_free(planner, at, at + WTM_JUMP))
            return at;
    return 0;
}

/* 0 when there is none; `taken`: an island that is given out already. */
static uintptr_t find_island(const struct wtm_planner *planner, const struct wtm_place *place,
                             const struct reach *reach, uintptr_t taken)
{
    const struct wtm_code_module *module = planner->module;
    if (reach->low > reach->high)
        return 0;
    uintptr_t boundary = reach->low;
    while (boundary && boundary < reach->high + WTM_JUMP) {
        if (!wtm_module_text_end(module, boundary))
            return 0;
        boundary = next_start(module, boundary);
        uintptr_t begin = wtm_flow_padding(module, boundary);
        if (begin < place->end && boundary > place->entry) /* what is the function's own is not padding */
            begin = place->end;
        uintptr_t at = begin < boundary ? free_place(planner, begin, boundary, reach, taken) : 0;
        if (at)
            return at;
        if (!wtm_module_text_end(module, boundary))
            return 0;
    }
    return 0;
}

static enum wtm_refusal find_loop_island(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    struct reach reach = {plan->place.site - REACH_BACK, plan->place.site + REACH_AHEAD};
    plan->loop_island = 0;
    if (!plan->short_loops)
        return WTM_REFUSED_NONE;
    for (unsigned i = 0; i < plan->loop_count; i++)
        if (plan->loops[i]->kind == WTM_HIT_SHORT)
            narrow(&reach, plan->loops[i]->end);
    plan->loop_island = find_island(planner, &plan->place, &reach, plan->island);
    return plan->loop_island ? WTM_REFUSED_NONE : WTM_REFUSED_SHORT_LOOP;
}

enum wtm_refusal wtm_plan_jump5_island(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    enum wtm_refusal refusal = wtm_plan_window(planner, plan, WTM_JUMP, 1);
    if (refusal == WTM_REFUSED_NONE)
        refusal = wtm_plan_branches(planner, plan);
    plan->island = 0;
    plan->kept = plan->move.changed;
    return refusal == WTM_REFUSED_NONE ? find_loop_island(planner, plan) : refusal;
}

enum wtm_refusal wtm_plan_jump2(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    const unsigned bytes = 2; /* jmp rel8 */
    uintptr_t behind = plan->place.site + bytes;
    struct reach reach = {behind - REACH_BACK, behind + REACH_AHEAD};
    enum wtm_refusal refusal = wtm_plan_window(planner, plan, bytes, 0);
    if (refusal == WTM_REFUSED_NONE)
        refusal = wtm_plan_branches(planner, plan);
    if (refusal != WTM_REFUSED_NONE)
        return refusal;
    plan->method = WTM_PATCH_JUMP2;
    plan->kept = bytes;
    plan->island = find_island(planner, &plan->place, &reach, 0);
    if (!plan->island)
        return WTM_REFUSED_TOO_SHORT;
    return find_loop_island(planner, plan);
}
