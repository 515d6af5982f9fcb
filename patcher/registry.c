/* SPDX-License-Identifier: MIT */
#include "patcher/registry.h"
#include <errno.h>

struct wtm_batch *wtm_batches;

struct wtm_batch *wtm_batch_new(size_t count)
{
    struct wtm_pool pool = {0};
    struct wtm_batch *batch = wtm_pool_take(&pool, sizeof *batch);
    struct wtm_batch_entry *entries = batch ? wtm_pool_take(&pool, count * sizeof *entries) : NULL;
    if (!entries) {
        wtm_pool_give(&pool);
        return NULL;
    }
    batch->entries = entries;
    batch->pool = pool;
    return batch;
}

static int by_site(const void *left, const void *right)
{
    const struct wtm_batch_entry *l = left, *r = right;
    return l->site < r->site ? -1 : l->site > r->site;
}

static void give(struct wtm_batch *batch)
{
    struct wtm_pool pool = batch->pool;
    wtm_pool_give(&pool);
}

void wtm_batch_publish(struct wtm_batch *batch)
{
    batch->live = batch->count;
    if (!batch->count) {
        give(batch);
        return;
    }
    wtm_sort(batch->entries, batch->count, sizeof *batch->entries, by_site);
    batch->next = wtm_batches;
    wtm_batches = batch;
}

/* Index of the first patch whose site is at or above `address`. */
static size_t first_from(const struct wtm_batch *batch, uintptr_t address)
{
    size_t low = 0, high = batch->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (batch->entries[middle].site < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void wtm_batch_drop(struct wtm_patch *patch)
{
    struct wtm_detail *detail = patch->detail;
    if (!detail)
        return;
    struct wtm_batch *batch = detail->batch;
    size_t at = first_from(batch, patch->site);
    while (at < batch->count && batch->entries[at].patch != patch)
        at++;
    patch->detail = NULL;
    if (at == batch->count)
        return;
    batch->entries[at].patch = NULL;
    if (--batch->live)
        return;
    struct wtm_batch **link = &wtm_batches;
    while (*link && *link != batch)
        link = &(*link)->next;
    if (*link)
        *link = batch->next;
    give(batch);
}

const struct wtm_patch *wtm_registry_next(uintptr_t address)
{
    const struct wtm_patch *best = NULL;
    for (const struct wtm_batch *batch = wtm_batches; batch; batch = batch->next) {
        for (size_t i = first_from(batch, address); i < batch->count; i++) {
            const struct wtm_patch *patch = batch->entries[i].patch;
            if (!patch || !patch->committed)
                continue;
            if (!best || patch->site < best->site)
                best = patch;
            break;
        }
    }
    return best;
}

int wtm_claims_open(struct wtm_claims *claims, const struct wtm_code_module *module)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < module->text_count; i++) {
        low = module->text[i].start < low ? module->text[i].start : low;
        high = module->text[i].end > high ? module->text[i].end : high;
    }
    *claims = (struct wtm_claims){.base = low, .span = low < high ? high - low : 0};
    claims->mapped_bytes = claims->span / 8 + sizeof(uint64_t);
    claims->bits = wtm_pages_take(claims->mapped_bytes);
    if (!claims->bits)
        return -ENOMEM;
    for (const struct wtm_batch *batch = wtm_batches; batch; batch = batch->next)
        for (size_t i = first_from(batch, low); i < batch->count && batch->entries[i].site < high; i++)
            if (batch->entries[i].patch)
                wtm_claims_add_patch(claims, batch->entries[i].patch);
    return 0;
}

int wtm_claims_has(const struct wtm_claims *claims, uintptr_t low, uintptr_t high)
{
    for (uintptr_t at = low; at < high; at++) {
        size_t bit = at - claims->base;
        if (bit < claims->span && (claims->bits[bit / 64] >> (bit % 64) & 1))
            return 1;
    }
    return 0;
}

void wtm_claims_add(struct wtm_claims *claims, uintptr_t low, uintptr_t high)
{
    for (uintptr_t at = low; at < high; at++) {
        size_t bit = at - claims->base;
        if (bit < claims->span)
            claims->bits[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
}

void wtm_claims_add_patch(struct wtm_claims *claims, const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    wtm_claims_add(claims, patch->site, detail->kept_end);
    for (unsigned i = 0; i < detail->edit_count; i++)
        wtm_claims_add(claims, detail->edits[i].at, detail->edits[i].at + detail->edits[i].bytes);
}

void wtm_claims_give(struct wtm_claims *claims)
{
    wtm_pages_give(claims->bits, claims->mapped_bytes);
    claims->bits = NULL;
}
