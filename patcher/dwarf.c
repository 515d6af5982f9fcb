/* SPDX-License-Identifier: MIT */
#include "patcher/dwarf.h"
#include <string.h>

uint64_t wtm_dwarf_unsigned(struct wtm_dwarf *reader, unsigned bytes)
{
    uint64_t value = 0;
    if (reader->failed || (uint64_t)(reader->end - reader->at) < bytes) {
        reader->failed = 1;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return value;
}

uint64_t wtm_dwarf_leb128(struct wtm_dwarf *reader, int is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (!reader->failed) {
        uint8_t byte = (uint8_t)wtm_dwarf_unsigned(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (is_signed && shift < 64 && (byte & 0x40))
            value |= ~(uint64_t)0 << shift;
        return value;
    }
    return 0;
}

uint64_t wtm_dwarf_pointer(struct wtm_dwarf *reader, uint8_t encoding)
{
    uint64_t base = (uint64_t)(uintptr_t)reader->at, value;
    switch (encoding & 0x0f) {
    case WTM_PE_ABSOLUTE: case WTM_PE_UDATA8: case WTM_PE_SDATA8:
        value = wtm_dwarf_unsigned(reader, 8);
        break;
    case WTM_PE_UDATA4:
        value = wtm_dwarf_unsigned(reader, 4);
        break;
    case WTM_PE_SDATA4:
        value = (uint64_t)(int64_t)(int32_t)wtm_dwarf_unsigned(reader, 4);
        break;
    case WTM_PE_UDATA2:
        value = wtm_dwarf_unsigned(reader, 2);
        break;
    case WTM_PE_SDATA2:
        value = (uint64_t)(int64_t)(int16_t)wtm_dwarf_unsigned(reader, 2);
        break;
    case WTM_PE_ULEB: case WTM_PE_SLEB:
        value = wtm_dwarf_leb128(reader, (encoding & 0x0f) == WTM_PE_SLEB);
        break;
    default:
        reader->failed = 1;
        return 0;
    }
    if (!value) /* a null pointer, whatever it is relative to */
        return 0;
    switch (encoding & 0xf0) {
    case WTM_PE_ABSOLUTE:
        return value;
    case WTM_PE_PCREL:
        return base + value;
    }
    reader->failed = 1;
    return 0;
}
