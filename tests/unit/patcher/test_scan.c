/* SPDX-License-Identifier: MIT
 * The scan against the plainest search there is, over random bytes sown with branches. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "patcher/scan.h"

enum { TEXT_BYTES = 1 << 18, MOST_RANGES = 2000 };

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static uint8_t *text;
static struct wtm_code_module module;
static struct wtm_scan_range ranges[MOST_RANGES];

static void sow(size_t range_count)
{
    static const uint8_t opcodes[][3] = {{1, 0xe8}, {1, 0xe9}, {2, 0x0f, 0x85}, {2, 0x8d, 0x05}, {2, 0xc7, 0xf8},
                                         {2, 0x8d, 0x3d}, {2, 0x0f, 0x90}, {1, 0xea}};
    text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < TEXT_BYTES; i += 8)
        memcpy(text + i, &(uint64_t){next_random()}, 8);
    uintptr_t base = (uintptr_t)text;
    for (size_t i = 0; i < range_count; i++) {
        uintptr_t start = base + (TEXT_BYTES - 64) / range_count * i + next_random() % 16;
        ranges[i] = (struct wtm_scan_range){start, start + 1 + next_random() % 5, start + 6 + next_random() % 20};
    }
    for (size_t i = 0; i < 20000; i++) {
        const uint8_t *opcode = opcodes[next_random() % (sizeof opcodes / sizeof *opcodes)];
        size_t at = next_random() % (TEXT_BYTES - 8);
        const struct wtm_scan_range *range = &ranges[next_random() % range_count];
        uintptr_t target = range->start - 2 + next_random() % 30;
        memcpy(text + at, opcode + 1, opcode[0]);
        int32_t displacement = (int32_t)(target - (base + at + opcode[0] + 4));
        memcpy(text + at + opcode[0], &displacement, 4);
    }
    text[0] = 0xe9; /* the first and the last bytes */
    memcpy(text + 1, &(int32_t){(int32_t)(ranges[0].start + 2 - (base + 5))}, 4);
    text[TEXT_BYTES - 5] = 0xe9;
    memcpy(text + TEXT_BYTES - 4, &(int32_t){(int32_t)(ranges[0].start + 2 - (base + TEXT_BYTES))}, 4);
    module = (struct wtm_code_module){.text = {{base, base + TEXT_BYTES}}, .text_count = 1};
}

/* Every hit there must be, told by its displacement's place and kind: 1, or 2 when a range may leave it out. */
static uint8_t *expected(size_t range_count, int shorts)
{
    uint8_t *marks = calloc(TEXT_BYTES, 1), *heads = calloc(TEXT_BYTES, 1), *inside = calloc(TEXT_BYTES, 1);
    for (size_t i = 0; i < range_count; i++) {
        memset(heads + (ranges[i].start - (uintptr_t)text), 1, ranges[i].inside - ranges[i].start);
        memset(inside + (ranges[i].inside - (uintptr_t)text), 1, ranges[i].end - ranges[i].inside);
    }
    for (size_t at = 1; at < TEXT_BYTES; at++) {
        int32_t displacement = shorts ? (int8_t)text[at] : 0;
        if (!shorts && at + 4 <= TEXT_BYTES)
            memcpy(&displacement, text + at, 4);
        else if (!shorts)
            break;
        int64_t target = (int64_t)at + (shorts ? 1 : 4) + displacement;
        if (target < 0 || target >= TEXT_BYTES)
            continue;
        uint8_t last = text[at - 1], before = at > 1 ? text[at - 2] : 0;
        int jump = shorts ? (last >> 4) == 7 || last == 0xeb || (last >= 0xe0 && last <= 0xe3)
                          : last == 0xe9 || (before == 0x0f && (last >> 4) == 8) || (before == 0xc7 && last == 0xf8);
        int other = !shorts && (last == 0xe8 || (before == 0x8d && (last & 0xc7) == 5));
        marks[at] = (jump && heads[target]) || ((jump || other) && inside[target]);
    }
    free(heads);
    free(inside);
    return marks;
}

static void check(size_t range_count)
{
    sow(range_count);
    struct wtm_scan scan = {.hits = {.item_bytes = sizeof(struct wtm_hit)}};
    cr_assert_eq(wtm_scan_module(&module, ranges, range_count, &scan), 0);
    wtm_scan_sort(&scan);
    uint8_t *marks[2] = {expected(range_count, 0), expected(range_count, 1)};
    size_t count[2] = {0, 0};
    uintptr_t last = 0;
    for (const struct wtm_hit *hit = scan.hits.items; hit < wtm_scan_end(&scan); hit++) {
        unsigned shorts = hit->kind == WTM_HIT_SHORT;
        size_t at = hit->displacement - (uintptr_t)text;
        cr_assert_geq(hit->target, last, "in the order of targets");
        last = hit->target;
        cr_assert(marks[shorts][at], "a hit at %zx that is none", at);
        cr_assert_eq(hit->end, hit->displacement + (shorts ? 1 : 4));
        count[shorts] += marks[shorts][at] == 1;
        marks[shorts][at] = 2;
        cr_assert_geq(wtm_scan_from(&scan, hit->target)->target, hit->target);
    }
    for (size_t at = 0; at < TEXT_BYTES; at++)
        cr_assert(marks[0][at] != 1 && marks[1][at] != 1, "a branch at %zx was missed", at);
    cr_expect_gt(count[0], 1000);
    cr_expect_gt(count[1], range_count / 8);
    cr_expect(marks[0][1] == 2 && marks[0][TEXT_BYTES - 4] == 2, "the text's ends");
    wtm_scan_give(&scan);
    free(marks[0]);
    free(marks[1]);
    munmap(text, TEXT_BYTES);
}

Test(scan, few_ranges)
{
    check(8);
    check(64);
}

Test(scan, many_ranges)
{
    check(65);
    check(MOST_RANGES);
}
