/* SPDX-License-Identifier: MIT
 * Jump tables. Found without decoding: whatever looks like a jump through a register makes a function suspicious, and
 * whatever looks like the address of data in it is looked at as a table. A wrong guess costs some reads, and at worst a
 * refusal. Two forms: 32-bit entries relative to the table (lea table(%rip), position independent code), and 64-bit
 * addresses behind an absolute disp32 (fixed-address programs, whose tables have no relocations). */
#include "patcher/extent.h"
#include "patcher/flow.h"
#include <string.h>

enum { MOST_ENTRIES = 4096, LARGEST_FUNCTION_BYTES = 1 << 20 };

static uintptr_t data_end(const struct wtm_code_module *module, uintptr_t at)
{
    for (unsigned i = 0; i < module->data_count; i++)
        if (at >= module->data[i].start && at < module->data[i].end)
            return module->data[i].end;
    return 0;
}

static int relative_table(const struct wtm_code_module *module, uintptr_t table, const struct wtm_code_range *wanted)
{
    uintptr_t end = data_end(module, table);
    for (unsigned i = 0; i < MOST_ENTRIES && end && table + 4 * i + 4 <= end; i++) {
        int32_t entry;
        memcpy(&entry, (const void *)(table + 4 * i), sizeof entry);
        uintptr_t target = table + (uintptr_t)(intptr_t)entry;
        if (!wtm_module_text_end(module, target))
            return 0;
        if (target >= wanted->start && target < wanted->end)
            return 1;
    }
    return 0;
}

static int absolute_table(const struct wtm_code_module *module, uintptr_t table, const struct wtm_code_range *wanted)
{
    uintptr_t end = data_end(module, table);
    for (unsigned i = 0; i < MOST_ENTRIES && end && table + 8 * i + 8 <= end; i++) {
        uintptr_t target;
        memcpy(&target, (const void *)(table + 8 * i), sizeof target);
        if (!wtm_module_text_end(module, target))
            return 0;
        if (target >= wanted->start && target < wanted->end)
            return 1;
    }
    return 0;
}

/* jmp *%reg (ff e0..e7) or jmp *disp32(,%reg,8) (ff 24 sib) */
static int jumps_indirectly(const uint8_t *at, const uint8_t *end)
{
    for (; at + 2 <= end; at++)
        if (at[0] == 0xff && ((at[1] & 0xf8) == 0xe0 || at[1] == 0x24))
            return 1;
    return 0;
}

int wtm_flow_table_inside(const struct wtm_code_module *module, uintptr_t start, uintptr_t end, uintptr_t low,
                          uintptr_t high)
{
    const struct wtm_code_range wanted = {low, high};
    if (end - start > LARGEST_FUNCTION_BYTES)
        end = start + LARGEST_FUNCTION_BYTES;
    const uint8_t *at = (const uint8_t *)start, *last = (const uint8_t *)end;
    if (low >= high || !jumps_indirectly(at, last))
        return 0;
    for (; at + 7 <= last; at++) {
        int32_t displacement;
        if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 0x05) {
            memcpy(&displacement, at + 3, sizeof displacement);
            if (relative_table(module, (uintptr_t)at + 7 + (uintptr_t)(intptr_t)displacement, &wanted))
                return 1;
        }
        if ((at[0] & 0xc7) == 0x04 && (at[1] & 0xc7) == 0xc5) { /* ModRM mod 0 rm 4; SIB scale 8, no base */
            memcpy(&displacement, at + 2, sizeof displacement);
            if (absolute_table(module, (uintptr_t)(intptr_t)displacement, &wanted))
                return 1;
        }
    }
    return 0;
}
