/* SPDX-License-Identifier: MIT
 * Linear decoding from a start that is certain: the FDE's, else a symbol's. Text that this patcher changed is read as it
 * was before: the jump at a patched entry is stepped over together with the whole window it displaced. */
#include "patcher/flow.h"
#include "patcher/extent.h"
#include "patcher/registry.h"
#include "patcher/vex.h"

enum { LONGEST_WALK_BYTES = 1 << 18, FUNCTION_ALIGNMENT = 16, MOST_STARTS = 256 };

/* Where to begin for `address`; 0 when nothing is known. */
static uintptr_t known_start(const struct wtm_code_module *module, uintptr_t address)
{
    struct wtm_extent extent;
    if (wtm_extent_find(module, address, &extent) == 0) {
        if (address < extent.end)
            return extent.start;
        uintptr_t symbol = wtm_start_before(module, address);
        return symbol > extent.end ? symbol : extent.end; /* between two described functions: padding, or asm */
    }
    return wtm_start_before(module, address);
}

/* Length of the instruction at `at`; 0 when unknown. */
static unsigned step(uintptr_t at, uintptr_t end, struct wtm_insn *insn)
{
    if (wtm_decode((const uint8_t *)at, end - at, at, insn) == WTM_DECODE_OK)
        return insn->length;
    insn->kind = WTM_INSN_PLAIN;
    insn->displacement_at = 0;
    return wtm_vex_length((const uint8_t *)at, end - at);
}

static int refers_to(const struct wtm_insn *insn, const struct wtm_hit *hit)
{
    if (wtm_insn_is_relative(insn) || insn->kind == WTM_INSN_UNMOVABLE)
        return 1;
    return hit->kind == WTM_HIT_ADDRESS && insn->displacement_at;
}

static enum wtm_verdict walk_to(const struct wtm_code_module *module, uintptr_t at, const struct wtm_hit *hit)
{
    uintptr_t end = wtm_module_text_end(module, at);
    if (!at || at > hit->displacement || hit->end > end || hit->end - at > LONGEST_WALK_BYTES)
        return WTM_VERDICT_UNPROVEN;
    const struct wtm_patch *patched = wtm_registry_next(at);
    while (at < hit->end) {
        while (patched && patched->site < at)
            patched = wtm_registry_next(at);
        if (patched && patched->site == at) {
            at += patched->window; /* its own branches were judged from the original bytes */
            continue;
        }
        struct wtm_insn insn;
        unsigned length = step(at, end, &insn);
        if (!length)
            return WTM_VERDICT_UNPROVEN;
        at += length;
        if (at == hit->end)
            return refers_to(&insn, hit) ? WTM_VERDICT_BRANCH : WTM_VERDICT_NONE;
    }
    return WTM_VERDICT_NONE;
}

/* Behind the first instruction from `at` on that nothing runs on from; `end` when there is none before. */
static uintptr_t first_end(uintptr_t at, uintptr_t end)
{
    struct wtm_insn insn;
    while (at < end) {
        unsigned length = step(at, end, &insn);
        if (!length)
            return at;
        at += length;
        if (wtm_insn_ends(&insn))
            return at;
    }
    return end;
}

/* Between described functions, where no symbol says what begins where, there may be data as well, behind where code ends, and
 * decoding from its begin need not meet the code behind it. Functions are aligned as a rule: decoding from any such address
 * may meet the hit. */
static int may_be_met(const struct wtm_code_module *module, uintptr_t known, const struct wtm_hit *hit)
{
    struct wtm_extent extent;
    uintptr_t at = hit->displacement / FUNCTION_ALIGNMENT * FUNCTION_ALIGNMENT;
    if (wtm_extent_find(module, hit->displacement, &extent) == 0 && hit->displacement < extent.end)
        return 0;
    known = first_end(known, hit->end);
    for (unsigned i = 0; i < MOST_STARTS && at >= known; i++, at -= FUNCTION_ALIGNMENT)
        if (walk_to(module, at, hit) == WTM_VERDICT_BRANCH)
            return 1;
    return 0;
}

enum wtm_verdict wtm_flow_confirm(const struct wtm_code_module *module, struct wtm_hit *hit)
{
    if (hit->verdict == WTM_VERDICT_OPEN) {
        uintptr_t known = known_start(module, hit->displacement);
        hit->verdict = (uint8_t)walk_to(module, known, hit);
        if (hit->verdict == WTM_VERDICT_NONE && may_be_met(module, known, hit))
            hit->verdict = WTM_VERDICT_UNPROVEN;
    }
    return (enum wtm_verdict)hit->verdict;
}

static int add_displaced(const struct wtm_patch *patch, struct wtm_scan *scan)
{
    struct wtm_insn insn;
    int result = 0;
    for (unsigned at = 0; at < patch->window && result == 0; at += insn.length) {
        uintptr_t address = patch->site + at;
        if (wtm_decode(patch->original + at, patch->window - at, address, &insn) != WTM_DECODE_OK)
            break; /* padding behind a short function */
        int is_address = insn.displacement_at && insn.bytes[insn.opcode_at] == 0x8d;
        if (!wtm_insn_is_relative(&insn) && !is_address)
            continue;
        uint8_t kind = is_address ? WTM_HIT_ADDRESS : insn.kind == WTM_INSN_CALL ? WTM_HIT_CALL : WTM_HIT_JUMP;
        struct wtm_hit hit = {.target = insn.target, .displacement = address + insn.length - 1,
                              .end = address + insn.length, .kind = kind, .verdict = WTM_VERDICT_BRANCH};
        result = wtm_scan_add(scan, &hit);
    }
    return result;
}

int wtm_flow_add_displaced(const struct wtm_code_module *module, struct wtm_scan *scan)
{
    int result = 0;
    for (const struct wtm_batch *batch = wtm_batches; batch && result == 0; batch = batch->next) {
        for (size_t i = 0; i < batch->count && result == 0; i++) {
            const struct wtm_patch *patch = batch->entries[i].patch;
            if (patch && patch->committed && wtm_module_text_end(module, patch->site))
                result = add_displaced(patch, scan);
        }
    }
    return result;
}

int wtm_flow_is_start(const struct wtm_code_module *module, uintptr_t address)
{
    uintptr_t at = known_start(module, address), end = wtm_module_text_end(module, address);
    if (!at || at == address || wtm_start_before(module, address) == address)
        return 1;
    struct wtm_extent extent;
    int described = wtm_extent_find(module, address, &extent) == 0 && address < extent.end;
    if (address - at > LONGEST_WALK_BYTES)
        return !described;
    const struct wtm_patch *patched = wtm_registry_next(at);
    while (at < address) {
        while (patched && patched->site < at)
            patched = wtm_registry_next(at);
        struct wtm_insn insn;
        unsigned length = patched && patched->site == at ? patched->window : step(at, end, &insn);
        if (!length)
            return !described;
        at += length;
    }
    return at == address;
}

/* A start from which decoding passes what runs into `boundary`; 0 when nothing is known. */
static uintptr_t start_before_padding(const struct wtm_code_module *module, uintptr_t boundary)
{
    struct wtm_extent extent;
    uintptr_t symbol = wtm_start_before(module, boundary - 1);
    if (wtm_extent_find(module, boundary - 1, &extent) < 0)
        return symbol;
    return symbol >= extent.end ? symbol : extent.start;
}

static int all_zero(uintptr_t at, uintptr_t end)
{
    while (at < end && *(const uint8_t *)at == 0)
        at++;
    return at == end;
}

/* Length of the padding instruction or byte at `at`, 0 when it is none. */
static unsigned padding_length(uintptr_t at, uintptr_t boundary)
{
    struct wtm_insn insn;
    if (*(const uint8_t *)at == 0xcc || (*(const uint8_t *)at == 0 && all_zero(at, boundary)))
        return 1;
    if (wtm_decode((const uint8_t *)at, boundary - at, at, &insn) == WTM_DECODE_OK && insn.kind == WTM_INSN_NOP)
        return insn.length;
    return 0;
}

uintptr_t wtm_flow_padding(const struct wtm_code_module *module, uintptr_t boundary)
{
    uintptr_t at = start_before_padding(module, boundary), end = wtm_module_text_end(module, boundary - 1);
    uintptr_t free_from = 0;
    if (!at || at >= boundary || boundary - at > LONGEST_WALK_BYTES)
        return boundary;
    const struct wtm_patch *patched = wtm_registry_next(at);
    while (at < boundary) {
        unsigned padding = free_from ? padding_length(at, boundary) : 0;
        if (padding) {
            at += padding;
            continue;
        }
        struct wtm_insn insn = {0};
        free_from = 0;
        while (patched && patched->site < at)
            patched = wtm_registry_next(at);
        unsigned length = patched && patched->site == at ? patched->window : step(at, end, &insn);
        if (!length)
            return boundary;
        at += length;
        if (wtm_insn_ends(&insn))
            free_from = at;
    }
    return at == boundary && free_from ? free_from : boundary;
}
