/* SPDX-License-Identifier: MIT
 * Where a jump can lead whose displacement is not free: in pages that were taken already, else in new ones. */
#include "patcher/dictated.h"
#include "patcher/emit.h"
#include "patcher/plan.h"

enum { BYTE = 8, BYTES = 4 };

static int points_to(const struct wtm_pun *pun, uintptr_t at)
{
    int64_t distance = wtm_distance(pun->end, at);
    return wtm_fits32(distance) && ((uint32_t)distance & pun->mask) == pun->fixed;
}

/* Spreads `number` over the bytes that are free, the highest of them first: neighbours lie far from each other, since what
 * is mapped lies together. */
static uint32_t displacement_of(const struct wtm_pun *pun, unsigned number)
{
    uint32_t result = pun->fixed;
    for (int byte = BYTES - 1; byte >= 0; byte--) {
        if (pun->mask >> (BYTE * byte) & 0xff)
            continue;
        unsigned low = number & 15; /* 0x10 is no divisor of the odd number: all values come */
        result |= (uint32_t)((low * 0x31) & 0xff) << (BYTE * byte);
        number >>= 4;
    }
    return result;
}

/* The first place in a page that the pun can point to and where `bytes` fit; 0: none. */
static uintptr_t first_in_page(const struct wtm_pun *pun, uintptr_t from, uintptr_t page_end, size_t bytes)
{
    uintptr_t step = 1;
    if (pun->mask & 0xff) { /* the lowest byte of the place is given */
        from += ((pun->end + (pun->fixed & 0xff)) - from) & 0xff;
        step = 0x100;
    }
    for (uintptr_t at = from; at + bytes <= page_end; at += step)
        if (points_to(pun, at))
            return at;
    return 0;
}

/* The upper half of a displacement takes two values within a range of less than 64 KiB. */
static int can_match(const struct wtm_pun *pun, const struct wtm_code_range *range)
{
    int64_t low = wtm_distance(pun->end, range->start), high = wtm_distance(pun->end, range->end);
    uint32_t mask = pun->mask & 0xffff0000;
    return (wtm_fits32(low) && ((uint32_t)low & mask) == (pun->fixed & mask)) ||
           (wtm_fits32(high) && ((uint32_t)high & mask) == (pun->fixed & mask));
}

static uint8_t *in_own_pages(const struct wtm_pun *pun, size_t bytes)
{
    struct wtm_code_range free;
    for (const void *pages = wtm_dictated_open(NULL, &free); pages; pages = wtm_dictated_open(pages, &free)) {
        uintptr_t at = can_match(pun, &free) ? first_in_page(pun, free.start, free.end, bytes) : 0;
        uint8_t *code = at ? wtm_dictated_take(at, bytes) : NULL;
        if (code)
            return code;
    }
    return NULL;
}

static int is_elsewhere(const struct wtm_planner *planner, uintptr_t at, size_t bytes)
{
    const struct wtm_code_range *span = &planner->module->span;
    uintptr_t start = wtm_page_down(at), end = wtm_page_up(at + bytes);
    return (end <= span->start || start >= span->end) && !wtm_gap_is_kept(&planner->kept, start, end);
}

uint8_t *wtm_pun_place(const struct wtm_planner *planner, const struct wtm_pun *pun, unsigned tries)
{
    const size_t bytes = WTM_FAR_JUMP_BYTES;
    uint8_t *code = in_own_pages(pun, bytes);
    uintptr_t last = 0;
    for (unsigned i = 0; !code && i < tries; i++) {
        uintptr_t at = pun->end + (uintptr_t)(intptr_t)(int32_t)displacement_of(pun, i), page = wtm_page_down(at);
        /* rather within one page than across two */
        uintptr_t better = first_in_page(pun, page, page + WTM_PAGE_BYTES, bytes);
        at = better ? better : at;
        if (at == last)
            break; /* nothing is free to vary */
        last = at;
        if (is_elsewhere(planner, at, bytes))
            code = wtm_dictated_take(at, bytes);
    }
    return code;
}
