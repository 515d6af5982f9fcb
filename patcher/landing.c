/* SPDX-License-Identifier: MIT
 * Landing pads: the call-site table of a language-specific data area (Itanium C++ ABI, exception handling tables). */
#include "patcher/extent.h"
#include "patcher/dwarf.h"

static int walk_call_sites(struct wtm_dwarf *reader, uint8_t encoding, uintptr_t base, uintptr_t low, uintptr_t high)
{
    while (!reader->failed && reader->at < reader->end) {
        wtm_dwarf_pointer(reader, encoding); /* the call's start and length */
        wtm_dwarf_pointer(reader, encoding);
        uint64_t pad = wtm_dwarf_pointer(reader, encoding);
        wtm_dwarf_leb128(reader, 0);
        if (!reader->failed && pad && base + pad >= low && base + pad < high)
            return 1;
    }
    return reader->failed;
}

int wtm_landing_inside(const struct wtm_code_module *module, const struct wtm_extent *extent, uintptr_t low,
                       uintptr_t high)
{
    if (!extent->lsda || low >= high)
        return 0;
    const struct wtm_code_range *range = NULL;
    for (unsigned i = 0; i < module->data_count; i++)
        if (extent->lsda >= module->data[i].start && extent->lsda < module->data[i].end)
            range = &module->data[i];
    if (!range)
        return 1; /* a table that cannot be read may hold anything */
    struct wtm_dwarf reader = {(const uint8_t *)extent->lsda, (const uint8_t *)range->end, 0};
    uintptr_t base = extent->start;
    uint8_t encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
    if (encoding != WTM_PE_OMIT)
        base = wtm_dwarf_pointer(&reader, encoding);
    encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
    if (encoding != WTM_PE_OMIT)
        wtm_dwarf_leb128(&reader, 0); /* the type table's offset */
    encoding = (uint8_t)wtm_dwarf_unsigned(&reader, 1);
    uint64_t bytes = wtm_dwarf_leb128(&reader, 0);
    if (reader.failed || bytes > (uint64_t)(reader.end - reader.at))
        return 1;
    reader.end = reader.at + bytes;
    return walk_call_sites(&reader, encoding & 0x0f, base, low, high);
}
