/* SPDX-License-Identifier: MIT
 * Where a function is, which of its instructions must move, and who else counts on the bytes. */
#include "patcher/plan.h"
#include "patcher/flow.h"
#include "patcher/near.h"
#include <string.h>

enum { ENDBR_BYTES = 4, INT3 = 0xcc };

static uintptr_t lower_nonzero(uintptr_t left, uintptr_t right)
{
    return left && (!right || left < right) ? left : right;
}

/* The first address above `address` where something else begins: a symbol, a described function, the text's end. */
static uintptr_t next_boundary(const struct wtm_code_module *module, uintptr_t address)
{
    uintptr_t next = lower_nonzero(wtm_start_after(module, address), wtm_extent_next(module, address));
    return lower_nonzero(next, wtm_module_text_end(module, address));
}

static void find_end(const struct wtm_code_module *module, size_t size, struct wtm_place *place)
{
    uintptr_t text_end = wtm_module_text_end(module, place->entry);
    int described = wtm_extent_find(module, place->entry, &place->extent) == 0 && place->entry < place->extent.end;
    if (!described)
        place->extent = (struct wtm_extent){0, 0, 0};
    if (size && size < text_end - place->entry) {
        place->end = place->entry + size;
    } else {
        place->end = lower_nonzero(wtm_start_after(module, place->entry), text_end);
        if (described && place->extent.end < place->end)
            place->end = place->extent.end;
    }
    place->boundary = place->end;
    if (place->end < text_end) {
        place->boundary = next_boundary(module, place->end - 1);
        /* described bytes behind it are somebody's code, whatever the symbols say */
        struct wtm_extent behind;
        if (place->boundary > place->end && wtm_extent_find(module, place->end, &behind) == 0 &&
            behind.end > place->end)
            place->boundary = place->end;
    }
}

/* Already a jump into code of ours, or a breakpoint of somebody's debugger? */
static int is_hooked(const struct wtm_code_module *module, const struct wtm_planner *planner, uintptr_t site)
{
    const uint8_t *bytes = (const uint8_t *)site;
    int32_t displacement;
    if (wtm_claims_has(&planner->claims, site, site + 1) || bytes[0] == INT3)
        return 1;
    if (bytes[0] == 0xe9 && wtm_module_readable(module, site, WTM_JUMP)) {
        memcpy(&displacement, bytes + 1, sizeof displacement);
        return wtm_near_owns(site + WTM_JUMP + (uintptr_t)(intptr_t)displacement);
    }
    return 0;
}

enum wtm_refusal wtm_plan_place(const struct wtm_planner *planner, const struct wtm_patch_request *request,
                                struct wtm_place *place)
{
    const struct wtm_code_module *module = planner->module;
    uintptr_t text_end = wtm_module_text_end(module, request->entry);
    if (!text_end)
        return WTM_REFUSED_NOT_CODE;
    place->entry = place->site = request->entry;
    if (!wtm_flow_is_start(module, request->entry))
        return WTM_REFUSED_NOT_A_START;
    find_end(module, request->size, place);
    if (place->end - place->entry >= ENDBR_BYTES && wtm_is_endbr64((const uint8_t *)place->entry))
        place->site += ENDBR_BYTES;
    if (place->site >= text_end)
        return WTM_REFUSED_TOO_SHORT;
    if (is_hooked(module, planner, place->site))
        return WTM_REFUSED_FOREIGN_HOOK;
    place->looks = wtm_flow_return_slot(place->site, place->end);
    return request->looking_hook ? WTM_REFUSED_NONE : place->looks;
}

/* The bytes [end, site + need) are padding that nobody uses. */
static int padding_fits(const struct wtm_planner *planner, const struct wtm_place *place, uintptr_t limit)
{
    if (limit > place->boundary || place->boundary == place->end)
        return 0;
    return wtm_flow_padding(planner->module, place->boundary) <= place->end &&
           wtm_plan_is_free(planner, place->end, limit);
}

static enum wtm_refusal refusal_of(enum wtm_decode_result result)
{
    switch (result) {
    case WTM_DECODE_OK:
        return WTM_REFUSED_NONE;
    case WTM_DECODE_PREFIXED:
        return WTM_REFUSED_PREFIXED_BRANCH;
    case WTM_DECODE_NO_MEMORY:
        return WTM_REFUSED_NO_MEMORY;
    default:
        return WTM_REFUSED_UNDECODABLE;
    }
}

enum wtm_refusal wtm_plan_window(const struct wtm_planner *planner, struct wtm_plan *plan, unsigned need, int padding)
{
    const struct wtm_place *place = &plan->place;
    struct wtm_move *move = &plan->move;
    uintptr_t at = place->site, limit = place->site + need;
    move->count = 0;
    move->entry = place->entry;
    move->site = place->site;
    move->returns_here = 1;
    if (need > WTM_MAX_WINDOW)
        return WTM_REFUSED_TOO_SHORT;
    while (at < limit && at < place->end) {
        struct wtm_insn *insn = &move->insns[move->count];
        enum wtm_refusal refusal = refusal_of(wtm_decode((const uint8_t *)at, place->end - at, at, insn));
        if (refusal != WTM_REFUSED_NONE)
            return refusal;
        at += insn->length;
        move->returns_here = !wtm_insn_ends(insn);
        move->count++;
    }
    plan->method = WTM_PATCH_JUMP5;
    if (at < limit) { /* padding is never reached by running on, so it is not copied */
        if (!padding || !move->count || !padding_fits(planner, place, limit))
            return WTM_REFUSED_TOO_SHORT;
        plan->method = WTM_PATCH_PADDED;
        at = limit;
    }
    if (at - place->site > WTM_MAX_WINDOW)
        return WTM_REFUSED_TOO_SHORT;
    move->window = (unsigned)(at - place->site);
    move->changed = need;
    return WTM_REFUSED_NONE;
}

/* Does the hit lie in what moves? Then it goes with it. */
static int in_window(const struct wtm_plan *plan, const struct wtm_hit *hit)
{
    for (unsigned i = 0; i < plan->move.count; i++) {
        const struct wtm_insn *insn = &plan->move.insns[i];
        if (hit->displacement >= insn->address && hit->end <= insn->address + insn->length)
            return 1;
    }
    return 0;
}

static enum wtm_refusal collect_loops(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    const struct wtm_place *place = &plan->place;
    const struct wtm_hit *end = wtm_scan_end(&planner->scan);
    uintptr_t last = 0;
    plan->loop_count = plan->short_loops = 0;
    for (struct wtm_hit *hit = wtm_scan_from(&planner->scan, place->entry); hit < end && hit->target <= place->site;
         hit++) {
        if (hit->target != place->entry && hit->target != place->site)
            continue; /* into the endbr64: part of something else, nothing to do with us */
        if (hit->kind == WTM_HIT_CALL || hit->kind == WTM_HIT_ADDRESS || hit->displacement < place->entry ||
            hit->displacement >= place->end || hit->displacement == last || in_window(plan, hit))
            continue;
        last = hit->displacement;
        enum wtm_verdict verdict = wtm_flow_confirm(planner->module, hit);
        if (verdict == WTM_VERDICT_NONE)
            continue;
        if (verdict != WTM_VERDICT_BRANCH || plan->loop_count == WTM_MOST_LOOPS ||
            wtm_claims_has(&planner->claims, hit->displacement, hit->end))
            return WTM_REFUSED_SHORT_LOOP;
        plan->loops[plan->loop_count++] = hit;
        plan->short_loops += hit->kind == WTM_HIT_SHORT;
    }
    return WTM_REFUSED_NONE;
}

/* Something other than the window itself leads to, begins in or points into [low, high). */
static int is_targeted(const struct wtm_planner *planner, const struct wtm_plan *plan, uintptr_t low, uintptr_t high)
{
    const struct wtm_code_module *module = planner->module;
    const struct wtm_hit *end = wtm_scan_end(&planner->scan);
    if (wtm_sorted_has(module->starts, module->start_count, low, high) ||
        wtm_sorted_has(module->code_pointers, module->code_pointer_count, low, high))
        return 1;
    for (struct wtm_hit *hit = wtm_scan_from(&planner->scan, low); hit < end && hit->target < high; hit++)
        if (!(plan && in_window(plan, hit) && hit->kind != WTM_HIT_ADDRESS) &&
            wtm_flow_confirm(module, hit) != WTM_VERDICT_NONE)
            return 1;
    return 0;
}

int wtm_plan_is_free(const struct wtm_planner *planner, uintptr_t low, uintptr_t high)
{
    uintptr_t described = wtm_extent_next(planner->module, low - 1);
    return !is_targeted(planner, NULL, low, high) && !wtm_claims_has(&planner->claims, low, high) &&
           !(described && described < high);
}

static int tables_lead_inside(const struct wtm_planner *planner, const struct wtm_plan *plan)
{
    uintptr_t targets[WTM_MOST_MOVED];
    size_t count = 0;
    for (unsigned i = 1; i < plan->move.count; i++)
        if (plan->move.insns[i].address < plan->place.site + plan->move.changed)
            targets[count++] = plan->move.insns[i].address;
    return wtm_flow_table_leads(planner->module, plan->place.entry, plan->place.end, targets, count);
}

enum wtm_refusal wtm_plan_branches(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    const struct wtm_place *place = &plan->place;
    const struct wtm_code_module *module = planner->module;
    uintptr_t low = place->site + 1, high = place->site + plan->move.changed;
    const uintptr_t heads[2] = {place->entry, place->site};
    enum wtm_refusal refusal = collect_loops(planner, plan);
    if (refusal != WTM_REFUSED_NONE)
        return refusal;
    if (is_targeted(planner, plan, low, high) || wtm_landing_inside(module, &place->extent, low, high) ||
        tables_lead_inside(planner, plan))
        return WTM_REFUSED_BRANCH_INSIDE;
    if (wtm_flow_table_leads(module, place->entry, place->end, heads, 2) ||
        wtm_landing_inside(module, &place->extent, place->entry, low) ||
        wtm_sorted_has(module->code_pointers, module->code_pointer_count, place->entry + 1, low))
        return WTM_REFUSED_SHORT_LOOP;
    if (wtm_claims_has(&planner->claims, place->site, high))
        return WTM_REFUSED_FOREIGN_HOOK;
    return WTM_REFUSED_NONE;
}

enum wtm_refusal wtm_plan_jump5(const struct wtm_planner *planner, struct wtm_plan *plan)
{
    enum wtm_refusal refusal = wtm_plan_window(planner, plan, WTM_JUMP, 1);
    if (refusal == WTM_REFUSED_NONE)
        refusal = wtm_plan_branches(planner, plan);
    plan->island = plan->loop_island = 0;
    if (refusal == WTM_REFUSED_NONE && plan->short_loops) {
        /* rel8 does not reach the copy: a second jump right behind the first takes them there */
        if (plan->running || wtm_plan_window(planner, plan, 2 * WTM_JUMP, 0) != WTM_REFUSED_NONE)
            return WTM_REFUSED_SHORT_LOOP;
        refusal = wtm_plan_branches(planner, plan);
        plan->loop_island = plan->place.site + WTM_JUMP;
    }
    for (unsigned i = 0; refusal == WTM_REFUSED_NONE && i < plan->loop_count; i++) {
        int64_t distance = (int64_t)(plan->loop_island - plan->loops[i]->end);
        if (plan->loops[i]->kind == WTM_HIT_SHORT && distance != (int8_t)distance)
            refusal = WTM_REFUSED_SHORT_LOOP;
    }
    plan->kept = plan->move.changed;
    return refusal;
}
