/* SPDX-License-Identifier: MIT */
#include "patcher/build.h"
#include "patcher/dictated.h"
#include "patcher/emit.h"
#include "patcher/slots.h"
#include <string.h>

enum { REX_W = 0x48, SEGMENT = 0x2e }; /* prefixes that a near jump ignores in 64-bit code */

/* e9 rel32 that will stand at `at`; not 0 when it does not reach. */
static int jump_bytes(uint8_t *bytes, uintptr_t at, uintptr_t target)
{
    int64_t distance = wtm_distance(at + WTM_JUMP, target);
    int32_t displacement = (int32_t)distance;
    bytes[0] = 0xe9;
    memcpy(bytes + 1, &displacement, sizeof displacement);
    return !wtm_fits32(distance);
}

static int site_bytes(const struct wtm_plan *plan, uintptr_t stub, struct wtm_patch *patch)
{
    uintptr_t site = plan->place.site;
    uint8_t *bytes = patch->replacement;
    int unreachable = 0;
    switch (plan->method) {
    case WTM_PATCH_JUMP2:
        bytes[0] = 0xeb;
        bytes[1] = (uint8_t)(plan->island - (site + WTM_SHORT_JUMP_BYTES));
        break;
    case WTM_PATCH_PUNNED: {
        uint8_t jump[WTM_JUMP], *at = bytes;
        unreachable = jump_bytes(jump, site + plan->pun_prefixes, (uintptr_t)plan->dictated);
        for (unsigned i = 0; i < plan->pun_prefixes; i++)
            *at++ = i + 1 == plan->pun_prefixes ? REX_W : SEGMENT;
        memcpy(at, jump, plan->move.changed - plan->pun_prefixes);
        break;
    }
    default:
        unreachable = jump_bytes(bytes, site, stub);
        if (plan->move.changed == 2 * WTM_JUMP)
            unreachable |= jump_bytes(bytes + WTM_JUMP, site + WTM_JUMP, patch->body);
    }
    return unreachable;
}

static int add_edit(struct wtm_detail *detail, uintptr_t at, const void *bytes, unsigned count)
{
    struct wtm_edit *edit = &detail->edits[detail->edit_count++];
    edit->at = at;
    edit->bytes = (uint8_t)count;
    memcpy(edit->original, (const void *)at, count);
    memcpy(edit->replacement, bytes, count);
    return 0;
}

static int island_edit(struct wtm_detail *detail, uintptr_t island, uintptr_t target)
{
    uint8_t bytes[WTM_JUMP];
    int unreachable = jump_bytes(bytes, island, target);
    add_edit(detail, island, bytes, sizeof bytes);
    detail->island_count++;
    return unreachable;
}

/* Islands first: they must stand before anything leads to them. */
static int make_edits(const struct wtm_plan *plan, uintptr_t stub, uintptr_t body, struct wtm_detail *detail)
{
    int unreachable = 0;
    if (plan->island)
        unreachable |= island_edit(detail, plan->island, stub);
    if (plan->loop_island && plan->move.changed != 2 * WTM_JUMP)
        unreachable |= island_edit(detail, plan->loop_island, body);
    for (unsigned i = 0; i < plan->loop_count; i++) {
        const struct wtm_hit *loop = plan->loops[i];
        int is_short = loop->kind == WTM_HIT_SHORT;
        int64_t distance = wtm_distance(loop->end, is_short ? plan->loop_island : body);
        int32_t displacement = (int32_t)distance;
        unreachable |= is_short ? distance != (int8_t)distance : !wtm_fits32(distance);
        add_edit(detail, loop->displacement, &displacement, is_short ? 1 : 4); /* little endian */
    }
    return unreachable;
}

static void fill_patch(const struct wtm_plan *plan, const struct wtm_slot *slot, struct wtm_detail *detail,
                       const struct wtm_patch_request *request, struct wtm_patch *patch)
{
    memset(patch, 0, sizeof *patch);
    patch->entry = plan->place.entry;
    patch->site = plan->place.site;
    patch->body = slot->body;
    patch->armed = slot->armed;
    patch->gate = slot->gate;
    patch->context = request->context;
    patch->method = plan->method;
    patch->window = (uint8_t)plan->move.window;
    patch->changed = (uint8_t)plan->move.changed;
    patch->detail = detail;
    memcpy(patch->original, (const void *)patch->site, patch->window);
    memcpy(patch->replacement, patch->original, patch->window);
}

static struct wtm_detail *new_detail(struct wtm_batch *batch, const struct wtm_plan *plan)
{
    struct wtm_detail *detail = wtm_pool_take(&batch->pool, sizeof *detail);
    struct wtm_edit *edits = wtm_pool_take(&batch->pool, (plan->loop_count + 2) * sizeof *edits);
    if (!detail || !edits)
        return NULL;
    detail->batch = batch;
    detail->edits = edits;
    detail->kept_end = plan->place.site + plan->kept;
    /* padding behind a short function counts for nothing: nobody stands in it */
    detail->one_instruction = plan->move.count == 1 || plan->move.insns[0].length >= plan->move.changed;
    detail->one_jump = plan->move.changed <= WTM_JUMP;
    return detail;
}

static void note_inner(const struct wtm_plan *plan, const struct wtm_slot *slot, struct wtm_detail *detail)
{
    uintptr_t changed_end = plan->place.site + plan->move.changed;
    detail->running = plan->running;
    for (unsigned i = 1; plan->running && i < plan->move.count && plan->move.insns[i].address < changed_end; i++)
        detail->inner[detail->inner_count++] =
            (struct wtm_inner){plan->move.insns[i].address, slot->body + wtm_relocate_offset(&plan->move, i)};
}

static enum wtm_refusal build(struct wtm_planner *planner, struct wtm_batch *batch, const struct wtm_plan *plan,
                              struct wtm_patch_request *request, size_t expected)
{
    struct wtm_slot slot;
    struct wtm_detail *detail = new_detail(batch, plan);
    uintptr_t hook = plan->place.looks ? request->looking_hook : request->hook;
    if (!detail)
        return WTM_REFUSED_NO_MEMORY;
    enum wtm_refusal refusal =
        wtm_slot_build(&planner->module->span, &plan->move, hook, request->context, expected, &slot);
    if (refusal != WTM_REFUSED_NONE)
        return refusal;
    fill_patch(plan, &slot, detail, request, request->patch);
    detail->block = slot.block;
    note_inner(plan, &slot, detail);
    if (site_bytes(plan, slot.stub, request->patch) | make_edits(plan, slot.stub, slot.body, detail)) {
        request->patch->detail = NULL;
        wtm_near_release(slot.block);
        return WTM_REFUSED_NO_NEAR_MEMORY;
    }
    if (plan->method == WTM_PATCH_PUNNED) {
        struct wtm_emit emit = {.at = plan->dictated};
        wtm_emit_far_jump(&emit, slot.stub);
        detail->dictated = (uintptr_t)plan->dictated;
    }
    batch->entries[batch->count++] = (struct wtm_batch_entry){request->patch->site, request->patch};
    wtm_claims_add_patch(&planner->claims, request->patch);
    return WTM_REFUSED_NONE;
}

enum wtm_refusal wtm_build(struct wtm_planner *planner, struct wtm_batch *batch, const struct wtm_plan *plan,
                           struct wtm_patch_request *request, size_t expected)
{
    enum wtm_refusal refusal = build(planner, batch, plan, request, expected);
    if (refusal != WTM_REFUSED_NONE && plan->method == WTM_PATCH_PUNNED)
        wtm_dictated_release((uintptr_t)plan->dictated);
    return refusal;
}
