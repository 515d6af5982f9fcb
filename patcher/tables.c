/* SPDX-License-Identifier: MIT
 * Jump tables. Found without decoding: whatever looks like a jump through a register makes a function suspicious, and
 * whatever looks like the address of data in it is looked at as a table. A wrong guess costs some reads, and at worst a
 * refusal. Nothing tells where a table ends; the next function's, read as if it were this one's, leads anywhere, so it
 * ends where too many entries have left the function (some do lead to its cold part). Two forms: 32-bit entries relative to the table (lea table(%rip), position independent code), and 64-bit
 * addresses behind an absolute disp32 (fixed-address programs, whose tables have no relocations). */
#include "patcher/extent.h"
#include "patcher/flow.h"
#include <string.h>

enum { MOST_ENTRIES = 4096, MOST_FOREIGN = 8, LARGEST_FUNCTION_BYTES = 1 << 20 };

struct search {
    const struct wtm_code_module *module;
    uintptr_t start, end; /* the function */
    const uintptr_t *targets;
    size_t count;
    unsigned foreign;
};

/* 1: one of those looked for; 0: go on; -1: the table is over */
static int judge(struct search *search, uintptr_t target)
{
    if (!wtm_module_text_end(search->module, target))
        return -1;
    if (target < search->start || target >= search->end)
        return ++search->foreign > MOST_FOREIGN ? -1 : 0;
    for (size_t i = 0; i < search->count; i++)
        if (target == search->targets[i])
            return 1;
    return 0;
}

static uintptr_t data_end(const struct wtm_code_module *module, uintptr_t at)
{
    for (unsigned i = 0; i < module->data_count; i++)
        if (at >= module->data[i].start && at < module->data[i].end)
            return module->data[i].end;
    return 0;
}

static int relative_table(struct search *search, uintptr_t table)
{
    uintptr_t end = data_end(search->module, table);
    int verdict = 0;
    search->foreign = 0;
    for (unsigned i = 0; i < MOST_ENTRIES && end && table + 4 * i + 4 <= end && verdict == 0; i++) {
        int32_t entry;
        memcpy(&entry, (const void *)(table + 4 * i), sizeof entry);
        verdict = judge(search, table + (uintptr_t)(intptr_t)entry);
    }
    return verdict > 0;
}

static int absolute_table(struct search *search, uintptr_t table)
{
    uintptr_t end = data_end(search->module, table);
    int verdict = 0;
    search->foreign = 0;
    for (unsigned i = 0; i < MOST_ENTRIES && end && table + 8 * i + 8 <= end && verdict == 0; i++) {
        uintptr_t target;
        memcpy(&target, (const void *)(table + 8 * i), sizeof target);
        verdict = judge(search, target);
    }
    return verdict > 0;
}

/* jmp *%reg (ff e0..e7) or jmp *disp32(,%reg,8) (ff 24 sib) */
static int jumps_indirectly(const uint8_t *at, const uint8_t *end)
{
    for (; at + 2 <= end; at++)
        if (at[0] == 0xff && ((at[1] & 0xf8) == 0xe0 || at[1] == 0x24))
            return 1;
    return 0;
}

int wtm_flow_table_leads(const struct wtm_code_module *module, uintptr_t start, uintptr_t end,
                         const uintptr_t *targets, size_t count)
{
    struct search search = {.module = module, .start = start, .end = end, .targets = targets, .count = count};
    if (end - start > LARGEST_FUNCTION_BYTES)
        end = start + LARGEST_FUNCTION_BYTES;
    const uint8_t *at = (const uint8_t *)start, *last = (const uint8_t *)end;
    if (!count || !jumps_indirectly(at, last))
        return 0;
    for (; at + 7 <= last; at++) {
        int32_t displacement;
        if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 0x05) {
            memcpy(&displacement, at + 3, sizeof displacement);
            if (relative_table(&search, (uintptr_t)at + 7 + (uintptr_t)(intptr_t)displacement))
                return 1;
        }
        if ((at[0] & 0xc7) == 0x04 && (at[1] & 0xc7) == 0xc5) { /* ModRM mod 0 rm 4; SIB scale 8, no base */
            memcpy(&displacement, at + 2, sizeof displacement);
            if (absolute_table(&search, (uintptr_t)(intptr_t)displacement))
                return 1;
        }
    }
    return 0;
}
