/* SPDX-License-Identifier: MIT
 * Preparing: one scan for all requests, then each in the order of addresses; those that need more than their own bytes
 * get a second scan of their surroundings. */
#include "patcher/build.h"
#include "patcher/dictated.h"
#include "patcher/flow.h"
#include "patcher/near.h"
#include "patcher/return_late.h"
#include <errno.h>
#include <string.h>

enum { FEW_REQUESTS = 256 }; /* for so few one wide scan is cheaper than perhaps two */

/* A request in the order of entries. */
struct order {
    uintptr_t entry;
    size_t index;
};

static int by_entry(const void *left, const void *right)
{
    const struct order *l = left, *r = right;
    if (l->entry != r->entry)
        return l->entry < r->entry ? -1 : 1;
    return l->index < r->index ? -1 : l->index > r->index;
}

static int make_order(const struct wtm_patch_request *requests, size_t count, struct wtm_vector *order)
{
    for (size_t i = 0; i < count; i++) {
        struct order *item = wtm_vector_push(order);
        if (!item)
            return -ENOMEM;
        *item = (struct order){requests[i].entry, i};
    }
    wtm_sort(order->items, order->count, sizeof(struct order), by_entry);
    return 0;
}

static struct wtm_scan_range narrow_range(const struct wtm_code_module *module, uintptr_t entry)
{
    uintptr_t text_end = wtm_module_text_end(module, entry), site = entry;
    if (text_end - entry >= 4 && wtm_is_endbr64((const uint8_t *)entry))
        site += 4;
    uintptr_t end = site + WTM_SCAN_AHEAD;
    return (struct wtm_scan_range){entry, site + 1, end < text_end ? end : text_end};
}

static struct wtm_scan_range wide_range(const struct wtm_code_module *module, uintptr_t entry)
{
    uintptr_t text_end = wtm_module_text_end(module, entry), text_start = entry;
    for (unsigned i = 0; i < module->text_count; i++)
        if (entry >= module->text[i].start && entry < module->text[i].end)
            text_start = module->text[i].start;
    uintptr_t start = entry - text_start > WTM_SCAN_AROUND ? entry - WTM_SCAN_AROUND : text_start;
    uintptr_t end = text_end - entry > WTM_SCAN_AROUND ? entry + WTM_SCAN_AROUND : text_end;
    return (struct wtm_scan_range){start, start, end};
}

static int scan(struct wtm_planner *planner, const struct order *order, size_t count, int wide)
{
    const struct wtm_code_module *module = planner->module;
    struct wtm_vector ranges = {.item_bytes = sizeof(struct wtm_scan_range)};
    int result = 0;
    wtm_scan_give(&planner->scan);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!wtm_module_text_end(module, order[i].entry))
            continue;
        struct wtm_scan_range *range = wtm_vector_push(&ranges);
        if (range)
            *range = wide ? wide_range(module, order[i].entry) : narrow_range(module, order[i].entry);
        else
            result = -ENOMEM;
    }
    if (result == 0 && ranges.count)
        result = wtm_scan_module(module, ranges.items, ranges.count, &planner->scan);
    if (result == 0)
        result = wtm_flow_add_displaced(module, &planner->scan);
    wtm_scan_sort(&planner->scan);
    wtm_vector_give(&ranges);
    return result;
}

/* Reasons that a change of fewer bytes, or of bytes elsewhere, can get around. */
static int is_worth_another(enum wtm_refusal refusal, int running)
{
    if (running && (refusal == WTM_REFUSED_BUSY || refusal == WTM_REFUSED_NO_NEAR_MEMORY))
        return 1;
    return refusal == WTM_REFUSED_TOO_SHORT || refusal == WTM_REFUSED_BRANCH_INSIDE ||
           refusal == WTM_REFUSED_UNDECODABLE || refusal == WTM_REFUSED_PREFIXED_BRANCH ||
           refusal == WTM_REFUSED_SHORT_LOOP || refusal == WTM_REFUSED_FOREIGN_HOOK;
}

typedef enum wtm_refusal way(const struct wtm_planner *planner, struct wtm_plan *plan);

static enum wtm_refusal try_ways(struct wtm_planner *planner, struct wtm_batch *batch,
                                 struct wtm_patch_request *request, way *const *ways, unsigned way_count,
                                 size_t expected)
{
    struct wtm_plan plan; /* some 3 KiB */
    memset(&plan.place, 0, sizeof plan.place);
    plan.running = request->running;
    enum wtm_refusal first = wtm_plan_place(planner, request, &plan.place);
    if (first != WTM_REFUSED_NONE)
        return first;
    for (unsigned i = 0; i < way_count; i++) {
        enum wtm_refusal refusal = ways[i](planner, &plan);
        if (refusal == WTM_REFUSED_NONE && plan.running)
            refusal = wtm_plan_running(planner, &plan);
        if (refusal == WTM_REFUSED_NONE)
            refusal = wtm_build(planner, batch, &plan, request, expected);
        if (refusal == WTM_REFUSED_NONE) {
            request->looks = plan.place.looks;
            return refusal;
        }
        first = first == WTM_REFUSED_NONE ? refusal : first;
    }
    return first;
}

static void first_round(struct wtm_planner *planner, struct wtm_batch *batch, struct wtm_patch_request *requests,
                        const struct order *order, size_t count)
{
    static way *const ways[] = {wtm_plan_jump5};
    for (size_t i = 0; i < count; i++) {
        struct wtm_patch_request *request = &requests[order[i].index];
        if (i && order[i].entry == order[i - 1].entry)
            request->refusal = WTM_REFUSED_FOREIGN_HOOK;
        else
            request->refusal = try_ways(planner, batch, request, ways, 1, count - i);
    }
}

/* Those that are worth it once more, by the ways that use other bytes. Compacts `order` to them. */
static int second_round(struct wtm_planner *planner, struct wtm_batch *batch, struct wtm_patch_request *requests,
                        struct order *order, size_t count)
{
    int result = 0, is_few = count <= FEW_REQUESTS;
    static way *const ways[] = {wtm_plan_jump5_island, wtm_plan_jump2, wtm_plan_punned};
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (is_worth_another(requests[order[i].index].refusal, requests[order[i].index].running) && !(left && order[left - 1].entry == order[i].entry))
            order[left++] = order[i];
    if (!left)
        return 0;
    if (!planner->kept.stack.end)
        wtm_gap_read_kept(&planner->kept);
    if (!is_few)
        result = scan(planner, order, left, 1);
    for (size_t i = 0; i < left && result == 0; i++) {
        struct wtm_patch_request *request = &requests[order[i].index];
        enum wtm_refusal first = request->refusal;
        if (try_ways(planner, batch, request, ways, 3, left - i) == WTM_REFUSED_NONE)
            request->refusal = WTM_REFUSED_NONE;
        else
            request->refusal = first;
    }
    return result;
}

static int any_runs(const struct wtm_patch_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i].running)
            return 1;
    return 0;
}

/* What was built cannot be used. */
static void refuse_all(struct wtm_patch_request *requests, size_t count, enum wtm_refusal refusal)
{
    for (size_t i = 0; i < count; i++) {
        if (requests[i].refusal != WTM_REFUSED_NONE)
            continue;
        const struct wtm_detail *detail = requests[i].patch->detail;
        if (detail) {
            wtm_near_release(detail->block);
            if (detail->dictated)
                wtm_dictated_release(detail->dictated);
        }
        requests[i].patch->detail = NULL;
        requests[i].refusal = refusal;
    }
}

int wtm_patch_prepare(const struct wtm_code_module *module, struct wtm_patch_request *requests, size_t count)
{
    struct wtm_planner planner = {.module = module, .scan = {.hits = {.item_bytes = sizeof(struct wtm_hit)}}};
    struct wtm_vector order = {.item_bytes = sizeof(struct order)};
    struct wtm_batch *batch = wtm_batch_new(count);
    for (size_t i = 0; i < count; i++) {
        requests[i].refusal = WTM_REFUSED_NO_MEMORY;
        requests[i].looks = WTM_REFUSED_NONE;
        requests[i].patch->detail = NULL;
    }
    int result = batch ? wtm_claims_open(&planner.claims, module) : -ENOMEM;
    if (result == 0)
        result = make_order(requests, count, &order);
    if (result == 0)
        result = scan(&planner, order.items, order.count, count <= FEW_REQUESTS);
    if (result == 0) {
        if (any_runs(requests, count))
            wtm_gap_read_kept(&planner.kept);
        first_round(&planner, batch, requests, order.items, order.count);
        second_round(&planner, batch, requests, order.items, order.count); /* without it: refused as they were */
    }
    int sealed = wtm_near_seal();
    if (sealed < 0) {
        refuse_all(requests, count, WTM_REFUSED_NO_MEMORY);
        result = result < 0 ? result : sealed;
        if (batch)
            batch->count = 0;
    }
    if (batch)
        wtm_batch_publish(batch);
    wtm_scan_give(&planner.scan);
    wtm_return_late_done();
    wtm_claims_give(&planner.claims);
    wtm_vector_give(&order);
    return result;
}
