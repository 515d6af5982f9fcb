/* SPDX-License-Identifier: MIT
 * The binary search table of .eh_frame_hdr (LSB core, 10.6.2) and the FDEs it leads to. */
#include "patcher/extent.h"
#include "patcher/dwarf.h"
#include <string.h>

enum { HEADER_VERSION = 1, TABLE_ENCODING = WTM_PE_DATAREL | WTM_PE_SDATA4 };

struct table_entry {
    int32_t start, fde; /* relative to the header */
};
struct table {
    const struct table_entry *entries;
    size_t count;
    uintptr_t base;
};

int wtm_module_readable(const struct wtm_code_module *module, uintptr_t at, size_t bytes)
{
    for (unsigned i = 0; i < module->data_count; i++)
        if (at >= module->data[i].start && at <= module->data[i].end && module->data[i].end - at >= bytes)
            return 1;
    for (unsigned i = 0; i < module->text_count; i++)
        if (at >= module->text[i].start && at <= module->text[i].end && module->text[i].end - at >= bytes)
            return 1;
    return 0;
}

uintptr_t wtm_module_text_end(const struct wtm_code_module *module, uintptr_t address)
{
    for (unsigned i = 0; i < module->text_count; i++)
        if (address >= module->text[i].start && address < module->text[i].end)
            return module->text[i].end;
    return 0;
}

/* How far one may read from `at`, at most `most` bytes. */
static size_t readable_bytes(const struct wtm_code_module *module, uintptr_t at, size_t most)
{
    for (unsigned i = 0; i < module->data_count + module->text_count; i++) {
        const struct wtm_code_range *range =
            i < module->data_count ? &module->data[i] : &module->text[i - module->data_count];
        if (at >= range->start && at < range->end)
            return range->end - at < most ? range->end - at : most;
    }
    return 0;
}

static int open_table(const struct wtm_code_module *module, struct table *table)
{
    uintptr_t base = module->eh_frame_hdr;
    if (!base || module->eh_frame_hdr_bytes < 12 || !wtm_module_readable(module, base, module->eh_frame_hdr_bytes))
        return -1;
    const uint8_t *header = (const uint8_t *)base;
    uint8_t form = header[1] & 0x0f;
    if (header[0] != HEADER_VERSION || (form != WTM_PE_SDATA4 && form != WTM_PE_UDATA4) || header[2] != WTM_PE_UDATA4 ||
        header[3] != TABLE_ENCODING)
        return -1;
    uint32_t count;
    memcpy(&count, header + 8, sizeof count);
    if (count > (module->eh_frame_hdr_bytes - 12) / sizeof(struct table_entry))
        return -1;
    *table = (struct table){(const struct table_entry *)(header + 12), count, base};
    return count ? 0 : -1;
}

static uintptr_t entry_start(const struct table *table, size_t i)
{
    return table->base + (uintptr_t)(intptr_t)table->entries[i].start;
}

/* Number of entries whose start is at or below `address`. */
static size_t entries_up_to(const struct table *table, uintptr_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_start(table, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cie {
    uint8_t pointer_encoding, lsda_encoding, augmented;
};

static int read_cie(const struct wtm_code_module *module, uintptr_t at, struct cie *cie)
{
    size_t available = readable_bytes(module, at, 256);
    struct wtm_dwarf reader = {(const uint8_t *)at, (const uint8_t *)at + available, 0};
    *cie = (struct cie){WTM_PE_ABSOLUTE, WTM_PE_OMIT, 0};
    uint64_t length = wtm_dwarf_unsigned(&reader, 4);
    if (reader.failed || length == 0xffffffff || wtm_dwarf_unsigned(&reader, 4) != 0)
        return -1;
    uint8_t version = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
    const char *augmentation = (const char *)reader.at;
    while (wtm_dwarf_unsigned(&reader, 1))
        ;
    wtm_dwarf_leb128(&reader, 0);
    wtm_dwarf_leb128(&reader, 1);
    if (version == 1)
        wtm_dwarf_unsigned(&reader, 1);
    else
        wtm_dwarf_leb128(&reader, 0);
    if (reader.failed)
        return -1;
    if (augmentation[0] != 'z')
        return augmentation[0] ? -1 : 0;
    cie->augmented = 1;
    wtm_dwarf_leb128(&reader, 0);
    for (const char *letter = augmentation + 1; *letter; letter++) {
        if (*letter == 'R') {
            cie->pointer_encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
        } else if (*letter == 'L') {
            cie->lsda_encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
        } else if (*letter == 'P') {
            uint8_t encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
            wtm_dwarf_pointer(&reader, encoding & 0x0f); /* skipped, so without its base */
        } else if (*letter != 'S' && *letter != 'B') {
            return -1;
        }
    }
    return reader.failed ? -1 : 0;
}

static int read_fde(const struct wtm_code_module *module, uintptr_t at, struct wtm_extent *extent)
{
    size_t available = readable_bytes(module, at, 128);
    struct wtm_dwarf reader = {(const uint8_t *)at, (const uint8_t *)at + available, 0};
    uint64_t length = wtm_dwarf_unsigned(&reader, 4);
    uintptr_t here = (uintptr_t)reader.at;
    uint64_t back = wtm_dwarf_unsigned(&reader, 4);
    struct cie cie;
    if (reader.failed || length == 0xffffffff || !back || back > here || read_cie(module, here - back, &cie) < 0)
        return -1;
    extent->start = wtm_dwarf_pointer(&reader, cie.pointer_encoding);
    extent->end = extent->start + wtm_dwarf_pointer(&reader, cie.pointer_encoding & 0x0f);
    extent->lsda = 0;
    if (cie.augmented && wtm_dwarf_leb128(&reader, 0) && cie.lsda_encoding != WTM_PE_OMIT)
        extent->lsda = wtm_dwarf_pointer(&reader, cie.lsda_encoding);
    return reader.failed ? -1 : 0;
}

int wtm_extent_find(const struct wtm_code_module *module, uintptr_t address, struct wtm_extent *extent)
{
    struct table table;
    if (open_table(module, &table) < 0)
        return -1;
    size_t before = entries_up_to(&table, address);
    if (!before)
        return -1;
    uintptr_t fde = table.base + (uintptr_t)(intptr_t)table.entries[before - 1].fde;
    if (read_fde(module, fde, extent) < 0 || extent->start != entry_start(&table, before - 1))
        return -1;
    return 0;
}

uintptr_t wtm_extent_next(const struct wtm_code_module *module, uintptr_t address)
{
    struct table table;
    if (open_table(module, &table) < 0)
        return 0;
    size_t before = entries_up_to(&table, address);
    return before < table.count ? entry_start(&table, before) : 0;
}

/* Number of values at or below `address`. */
static size_t count_up_to(const uintptr_t *sorted, size_t count, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uintptr_t wtm_start_after(const struct wtm_code_module *module, uintptr_t address)
{
    size_t before = count_up_to(module->starts, module->start_count, address);
    return before < module->start_count ? module->starts[before] : 0;
}

uintptr_t wtm_start_before(const struct wtm_code_module *module, uintptr_t address)
{
    size_t before = count_up_to(module->starts, module->start_count, address);
    return before ? module->starts[before - 1] : 0;
}

int wtm_sorted_has(const uintptr_t *sorted, size_t count, uintptr_t low, uintptr_t high)
{
    if (low >= high)
        return 0;
    size_t before = low ? count_up_to(sorted, count, low - 1) : 0;
    return before < count && sorted[before] < high;
}
