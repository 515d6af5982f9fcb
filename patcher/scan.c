/* SPDX-License-Identifier: MIT
 * One pass over the text. Sixteen bytes at once are asked whether they end the opcode of a branch with a
 * rel32 (or of a rip-relative lea). The target of what is found selects a byte of a small table: one for
 * every so many lines of 256 bytes of text, set where a range lies. What is left must have its target in a
 * range: by its bit in one of two bitmaps with a bit for each byte of text, or, for few ranges, by looking at
 * each (page faults cost more then). Short branches are looked for only around the ranges. */
#include "patcher/scan.h"
#include "common/sys.h"
#include <emmintrin.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { SHORT_BACK = 130, SHORT_AHEAD = 130, LINE_SHIFT = 8, FEWEST_LINES = 4096, FEW_RANGES = 64 };

struct bitmaps {
    const struct wtm_scan_range *ranges; /* used when there are few, else NULL */
    size_t range_count;
    uint64_t *entries, *inside;
    uint8_t *lines; /* 1: something of interest lies in one of the lines that share this byte */
    uint32_t line_mask;
    uintptr_t base;
    size_t span, bytes;
};

static int has_bit(const uint64_t *bits, size_t at)
{
    return (int)(bits[at / 64] >> (at % 64) & 1);
}

static void set_bits(const struct bitmaps *maps, uint64_t *bits, uintptr_t start, uintptr_t end)
{
    for (uintptr_t at = start < maps->base ? maps->base : start; at < end && at - maps->base < maps->span;
         at++) {
        size_t offset = at - maps->base;
        if (bits)
            bits[offset / 64] |= (uint64_t)1 << (offset % 64);
        maps->lines[(uint32_t)offset >> LINE_SHIFT & maps->line_mask] = 1;
    }
}

static int make_bitmaps(const struct wtm_code_module *module, const struct wtm_scan_range *ranges,
                        size_t count, struct bitmaps *maps)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < module->text_count; i++) {
        low = module->text[i].start < low ? module->text[i].start : low;
        high = module->text[i].end > high ? module->text[i].end : high;
    }
    if (low >= high || high - low >= (uintptr_t)1 << 31)
        return -EINVAL;
    maps->base = low;
    maps->span = high - low;
    maps->bytes = maps->span / 8 + sizeof(uint64_t);
    maps->range_count = count;
    if (count <= FEW_RANGES) {
        maps->ranges = ranges;
    } else {
        maps->entries = wtm_pages_take(maps->bytes);
        maps->inside = wtm_pages_take(maps->bytes);
    }
    maps->line_mask = FEWEST_LINES - 1;
    while (maps->line_mask < maps->span >> LINE_SHIFT)
        maps->line_mask = 2 * maps->line_mask + 1;
    maps->lines = wtm_pages_take((size_t)maps->line_mask + 1);
    if (!maps->lines || (!maps->ranges && (!maps->entries || !maps->inside)))
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        set_bits(maps, maps->entries, ranges[i].start, ranges[i].inside);
        set_bits(maps, maps->inside, ranges[i].inside, ranges[i].end);
    }
    return 0;
}

static int keep(struct wtm_scan *scan, uintptr_t target, uintptr_t displacement, uintptr_t end,
                enum wtm_hit_kind kind)
{
    struct wtm_hit *hit = wtm_vector_push(&scan->hits);
    if (!hit)
        return -ENOMEM;
    *hit = (struct wtm_hit){target, displacement, end, (uint8_t)kind, 0};
    return 0;
}

/* What the two bytes before a rel32 say; -1: nothing that refers to code. */
static int kind_before(uint8_t before_last, uint8_t last)
{
    if (last == 0xe8)
        return WTM_HIT_CALL;
    if (last == 0xe9 || ((last & 0xf0) == 0x80 && before_last == 0x0f) ||
        (last == 0xf8 && before_last == 0xc7))
        return WTM_HIT_JUMP;
    if ((last & 0xc7) == 0x05 && before_last == 0x8d)
        return WTM_HIT_ADDRESS;
    return -1;
}

static int is_wanted(const struct bitmaps *maps, uint32_t offset, int kind)
{
    uintptr_t target = maps->base + offset;
    if (!maps->ranges)
        return has_bit(maps->inside, offset) || (kind == WTM_HIT_JUMP && has_bit(maps->entries, offset));
    for (size_t i = 0; i < maps->range_count; i++)
        if (target < maps->ranges[i].end &&
            target >= (kind == WTM_HIT_JUMP ? maps->ranges[i].start : maps->ranges[i].inside))
            return 1;
    return 0;
}

/* A rel32 at `at` with its target at `offset` in the text, if it is a branch. */
static int consider(struct wtm_scan *scan, const struct bitmaps *maps, const uint8_t *at, uint32_t offset,
                    uintptr_t start)
{
    int kind = offset < maps->span ? kind_before((uintptr_t)at - 1 > start ? at[-2] : 0, at[-1]) : -1;
    if (kind < 0 || !is_wanted(maps, offset, kind))
        return 0;
    return keep(scan, maps->base + offset, (uintptr_t)at, (uintptr_t)at + 4, (enum wtm_hit_kind)kind);
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels refuse it, which is as good */
#endif
enum { POPULATE_BYTES = 16 << 20 };

/* Which of 16 bytes end an opcode that kind_before() knows; `before`: the same bytes, one earlier. SSE2 is
 * x86-64's own. */
static unsigned opcode_ends(__m128i bytes, __m128i before)
{
    __m128i call = _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xe8)),
            jump = _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xe9));
    __m128i jcc = _mm_and_si128(
        _mm_cmpeq_epi8(before, _mm_set1_epi8(0x0f)),
        _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)0xf0)), _mm_set1_epi8((char)0x80)));
    __m128i xbegin = _mm_and_si128(_mm_cmpeq_epi8(before, _mm_set1_epi8((char)0xc7)),
                                   _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xf8)));
    __m128i lea =
        _mm_and_si128(_mm_cmpeq_epi8(before, _mm_set1_epi8((char)0x8d)),
                      _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)0xc7)), _mm_set1_epi8(0x05)));
    return (unsigned)_mm_movemask_epi8(
        _mm_or_si128(_mm_or_si128(call, jump), _mm_or_si128(_mm_or_si128(jcc, xbegin), lea)));
}

static __m128i load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

/* One displacement, at `at`. */
static inline int look_at(struct wtm_scan *scan, const struct bitmaps *maps, const uint8_t *at,
                          uintptr_t start)
{
    uint32_t displacement;
    memcpy(&displacement, at, sizeof displacement);
    /* the text spans less than 2^31: no two targets share an offset */
    uint32_t offset = displacement + (uint32_t)((uintptr_t)at + 4 - maps->base);
    return maps->lines[offset >> LINE_SHIFT & maps->line_mask] ? consider(scan, maps, at, offset, start) : 0;
}

static int scan_long(struct wtm_scan *scan, const struct bitmaps *maps, uintptr_t start, uintptr_t end)
{
    if (end - start < 5)
        return 0;
    const uint8_t *at = (const uint8_t *)start + 1, *last = (const uint8_t *)end - 4; /* of displacements */
    if (look_at(scan, maps, at++, start) < 0)
        return -ENOMEM;
    /* 64 at a time, so that the loop over what was found ends, and is mispredicted, once for all of them */
    for (; last - at >= 64; at += 64) {
        uint64_t found = 0;
        for (int i = 0; i < 4; i++)
            found |= (uint64_t)opcode_ends(load(at + 16 * i - 1), load(at + 16 * i - 2)) << (16 * i);
        for (; found; found &= found - 1)
            if (look_at(scan, maps, at + __builtin_ctzll(found), start) < 0)
                return -ENOMEM;
    }
    for (; at <= last; at++)
        if (look_at(scan, maps, at, start) < 0)
            return -ENOMEM;
    return 0;
}

static int is_short_branch(uint8_t opcode)
{
    return (opcode & 0xf0) == 0x70 || opcode == 0xeb || (opcode & 0xfc) == 0xe0;
}

static int scan_short(struct wtm_scan *scan, const struct wtm_code_range *text,
                      const struct wtm_scan_range *range)
{
    uintptr_t low = range->start - text->start > SHORT_BACK ? range->start - SHORT_BACK : text->start;
    uintptr_t high = text->end - range->end > SHORT_AHEAD ? range->end + SHORT_AHEAD : text->end;
    for (const uint8_t *at = (const uint8_t *)low; (uintptr_t)at + 2 <= high; at++) {
        if (!is_short_branch(*at))
            continue;
        uintptr_t target = (uintptr_t)at + 2 + (uintptr_t)(intptr_t)(int8_t)at[1];
        if (target >= range->start && target < range->end &&
            keep(scan, target, (uintptr_t)at + 1, (uintptr_t)at + 2, WTM_HIT_SHORT) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int by_target(const void *left, const void *right)
{
    const struct wtm_hit *l = left, *r = right;
    if (l->target != r->target)
        return l->target < r->target ? -1 : 1;
    return l->displacement < r->displacement ? -1 : l->displacement > r->displacement;
}

void wtm_scan_sort(struct wtm_scan *scan)
{
    wtm_sort(scan->hits.items, scan->hits.count, sizeof(struct wtm_hit), by_target);
}

int wtm_scan_module(const struct wtm_code_module *module, const struct wtm_scan_range *ranges, size_t count,
                    struct wtm_scan *scan)
{
    struct bitmaps maps = {0};
    scan->hits.item_bytes = sizeof(struct wtm_hit);
    int result = make_bitmaps(module, ranges, count, &maps);
    for (unsigned i = 0; i < module->text_count && result == 0; i++) {
        const struct wtm_code_range *text = &module->text[i];
        if (text->end - text->start <=
            POPULATE_BYTES) /* all of it is read: one call instead of a fault for each 16 pages */
            wtm_sys_madvise((void *)(text->start & ~(uintptr_t)4095),
                            text->end - (text->start & ~(uintptr_t)4095), MADV_POPULATE_READ);
        result = scan_long(scan, &maps, text->start, text->end);
        for (size_t j = 0; j < count && result == 0; j++)
            if (ranges[j].start >= text->start && ranges[j].end <= text->end)
                result = scan_short(scan, text, &ranges[j]);
    }
    wtm_pages_give(maps.entries, maps.bytes);
    wtm_pages_give(maps.inside, maps.bytes);
    wtm_pages_give(maps.lines, (size_t)maps.line_mask + 1);
    return result;
}

int wtm_scan_add(struct wtm_scan *scan, const struct wtm_hit *hit)
{
    struct wtm_hit *kept = wtm_vector_push(&scan->hits);
    if (!kept)
        return -ENOMEM;
    *kept = *hit;
    return 0;
}

void wtm_scan_give(struct wtm_scan *scan)
{
    wtm_vector_give(&scan->hits);
}

struct wtm_hit *wtm_scan_from(const struct wtm_scan *scan, uintptr_t target)
{
    struct wtm_hit *hits = scan->hits.items;
    size_t low = 0, high = scan->hits.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hits[middle].target < target)
            low = middle + 1;
        else
            high = middle;
    }
    return hits ? hits + low : NULL;
}
