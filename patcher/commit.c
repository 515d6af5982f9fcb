/* SPDX-License-Identifier: MIT
 * Writes patches into text and takes them out again. */
#include "patcher/dictated.h"
#include "patcher/live.h"
#include "patcher/poke.h"
#include "patcher/registry.h"
#include <errno.h>
#include <string.h>

/* What is to happen to one patch; the same for both directions. */
struct change {
    struct wtm_patch *patch;
    int failed; /* 0, or the refusal that stopped it */
};

static int bytes_are(uintptr_t at, const uint8_t *expected, size_t count)
{
    return memcmp((const void *)at, expected, count) == 0;
}

/* Text is still as it was when the patch was prepared (or, for a revert, committed). */
static int is_as_expected(const struct wtm_patch *patch, int reverting)
{
    const struct wtm_detail *detail = patch->detail;
    if (!bytes_are(patch->site, reverting ? patch->replacement : patch->original,
                   reverting ? patch->changed : patch->window))
        return 0;
    for (unsigned i = 0; i < detail->edit_count; i++) {
        const struct wtm_edit *edit = &detail->edits[i];
        int left_standing = i < detail->island_count && bytes_are(edit->at, edit->replacement, edit->bytes);
        if (!left_standing && !bytes_are(edit->at, reverting ? edit->replacement : edit->original, edit->bytes))
            return 0;
    }
    return 1;
}

static int add_span(struct wtm_vector *spans, uintptr_t at, size_t bytes)
{
    struct wtm_span *span = wtm_vector_push(spans);
    if (!span)
        return -ENOMEM;
    *span = (struct wtm_span){at, bytes};
    return 0;
}

static int add_spans(struct wtm_vector *spans, const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    int result = add_span(spans, patch->site, patch->changed);
    for (unsigned i = 0; i < detail->edit_count && result == 0; i++)
        result = add_span(spans, detail->edits[i].at, detail->edits[i].bytes);
    return result;
}

static int is_writable(const struct wtm_text_access *access, const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    if (!wtm_text_is_open(access, patch->site, patch->changed))
        return 0;
    for (unsigned i = 0; i < detail->edit_count; i++)
        if (!wtm_text_is_open(access, detail->edits[i].at, detail->edits[i].bytes))
            return 0;
    return 1;
}

/* A re-aimed branch can be running in another thread: only one store will do, the old or the new target is as good. */
static int edits_are_single(const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    for (unsigned i = detail->island_count; i < detail->edit_count; i++)
        if (!wtm_text_is_one_store(detail->edits[i].at, detail->edits[i].bytes))
            return 0;
    return 1;
}

static void write_edits(const struct wtm_patch *patch, int reverting, int islands)
{
    const struct wtm_detail *detail = patch->detail;
    unsigned first = islands ? 0 : detail->island_count, end = islands ? detail->island_count : detail->edit_count;
    for (unsigned i = first; i < end; i++) {
        const struct wtm_edit *edit = &detail->edits[i];
        wtm_text_write(edit->at, reverting ? edit->original : edit->replacement, edit->bytes);
    }
}

/* No moment at which an entry leads to an island that does not stand: the code at hand may be what is being patched. */
static void write_alone(struct change *changes, size_t count, int reverting)
{
    for (size_t i = 0; i < count; i++) {
        const struct wtm_patch *patch = changes[i].patch;
        if (changes[i].failed)
            continue;
        if (!reverting)
            write_edits(patch, 0, 1);
        wtm_text_write(patch->site, reverting ? patch->original : patch->replacement, patch->changed);
        write_edits(patch, reverting, 0);
        if (reverting)
            write_edits(patch, 1, 1);
    }
}

static void fill_live(struct wtm_live_write *write, const struct wtm_patch *patch, int reverting)
{
    const struct wtm_detail *detail = patch->detail;
    *write = (struct wtm_live_write){.at = patch->site,
                                     .bytes = reverting ? patch->original : patch->replacement,
                                     .count = patch->changed,
                                     .resume = patch->body,
                                     .first = *(const uint8_t *)patch->site,
                                     .one_instruction = reverting ? detail->one_jump : detail->one_instruction,
                                     .inner = reverting || !detail->running ? NULL : detail->inner,
                                     .inner_count = detail->inner_count};
}

/* Islands stand before the entries lead to them, and stay for good: a thread may be on its way through one. Loops are
 * re-aimed behind the entry's change and taken back before it. */
static void write_live(struct change *changes, size_t count, int reverting)
{
    size_t mapped = count * sizeof(struct wtm_live_write), used = 0;
    struct wtm_live_write *writes = wtm_pages_take(mapped);
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].failed && (!writes || !edits_are_single(changes[i].patch)))
            changes[i].failed = WTM_REFUSED_BUSY;
        if (changes[i].failed)
            continue;
        write_edits(changes[i].patch, reverting, !reverting);
        fill_live(&writes[used++], changes[i].patch, reverting);
    }
    if (used)
        wtm_live_write(writes, used); /* an error shows in each write's `busy` */
    for (size_t i = 0, j = 0; i < count && j < used; i++) {
        if (changes[i].failed)
            continue;
        if (writes[j++].busy) {
            changes[i].failed = WTM_REFUSED_BUSY;
            write_edits(changes[i].patch, !reverting, !reverting);
        } else if (!reverting) {
            write_edits(changes[i].patch, 0, 0);
        }
    }
    wtm_pages_give(writes, mapped);
}

static int apply(struct change *changes, size_t count, int reverting, int alone)
{
    struct wtm_vector spans = {.item_bytes = sizeof(struct wtm_span)};
    struct wtm_text_access access;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!is_as_expected(changes[i].patch, reverting))
            changes[i].failed = WTM_REFUSED_FOREIGN_HOOK;
        else
            result = add_spans(&spans, changes[i].patch);
    }
    if (result == 0)
        result = wtm_text_open(&access, spans.items, spans.count, !alone);
    if (result == 0) {
        for (size_t i = 0; i < count; i++)
            if (!changes[i].failed && !is_writable(&access, changes[i].patch))
                changes[i].failed = WTM_REFUSED_PROTECTED;
        if (alone)
            write_alone(changes, count, reverting);
        else
            write_live(changes, count, reverting);
        wtm_text_close(&access);
    }
    wtm_vector_give(&spans);
    return result;
}

int wtm_patch_commit(struct wtm_patch_request *requests, size_t count, int alone)
{
    struct wtm_vector changes = {.item_bytes = sizeof(struct change)};
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (requests[i].refusal != WTM_REFUSED_NONE || requests[i].patch->committed || !requests[i].patch->detail)
            continue;
        struct change *change = wtm_vector_push(&changes);
        if (change)
            change->patch = requests[i].patch;
        else
            result = -ENOMEM;
    }
    if (result == 0 && changes.count)
        result = apply(changes.items, changes.count, 0, alone);
    const struct change *change = changes.items;
    for (size_t i = 0, j = 0; i < count; i++) {
        if (requests[i].refusal != WTM_REFUSED_NONE || requests[i].patch->committed || !requests[i].patch->detail)
            continue;
        int failed = result < 0 ? WTM_REFUSED_NO_MEMORY : change[j++].failed;
        if (!failed)
            requests[i].patch->committed = 1;
        requests[i].refusal = (enum wtm_refusal)failed;
    }
    wtm_vector_give(&changes);
    return result;
}

int wtm_patch_revert(struct wtm_patch *const *patches, size_t count, int alone)
{
    struct wtm_vector changes = {.item_bytes = sizeof(struct change)};
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!patches[i]->committed)
            continue;
        struct change *change = wtm_vector_push(&changes);
        if (change)
            change->patch = patches[i];
        else
            result = -ENOMEM;
    }
    if (result == 0 && changes.count)
        result = apply(changes.items, changes.count, 1, alone);
    struct change *change = changes.items;
    for (size_t i = 0; i < changes.count && result == 0; i++) {
        if (!change[i].failed)
            change[i].patch->committed = 0;
    }
    for (size_t i = 0; i < changes.count && result == 0; i++)
        if (change[i].failed)
            result = change[i].failed == WTM_REFUSED_PROTECTED ? -EACCES : -EBUSY;
    wtm_vector_give(&changes);
    return result;
}

void wtm_patch_forget(struct wtm_patch *const *patches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct wtm_detail *detail = patches[i]->detail;
        if (!detail)
            continue;
        wtm_live_forget(patches[i]->site);
        wtm_near_release(detail->block);
        if (detail->dictated)
            wtm_dictated_release(detail->dictated);
        patches[i]->committed = 0;
        wtm_batch_drop(patches[i]);
    }
}

enum wtm_patch_trapped wtm_patch_trapped(const struct wtm_patch *patch)
{
    const struct wtm_detail *detail = patch->detail;
    if (!wtm_text_is_one_store(patch->site, patch->changed))
        return WTM_TRAPS_CALLERS;
    return detail->inner_count ? WTM_TRAPS_INSIDE : WTM_TRAPS_NOBODY;
}
