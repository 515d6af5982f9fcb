/* SPDX-License-Identifier: MIT
 * Bounded reading of DWARF's number forms (LSB core, 10.5; DWARF 5, 7.6). */
#ifndef WTM_PATCHER_DWARF_H
#define WTM_PATCHER_DWARF_H

#include <stdint.h>

enum { /* pointer encodings: a form in the low four bits, what it is relative to above, and indirection */
    WTM_PE_ABSOLUTE = 0x00, WTM_PE_ULEB = 0x01, WTM_PE_UDATA2 = 0x02, WTM_PE_UDATA4 = 0x03, WTM_PE_UDATA8 = 0x04,
    WTM_PE_SLEB = 0x09, WTM_PE_SDATA2 = 0x0a, WTM_PE_SDATA4 = 0x0b, WTM_PE_SDATA8 = 0x0c,
    WTM_PE_PCREL = 0x10, WTM_PE_DATAREL = 0x30, WTM_PE_INDIRECT = 0x80, WTM_PE_OMIT = 0xff
};

struct wtm_dwarf {
    const uint8_t *at, *end;
    int failed; /* something was cut short or unknown: all results since are 0 */
};

uint64_t wtm_dwarf_unsigned(struct wtm_dwarf *reader, unsigned bytes);
uint64_t wtm_dwarf_leb128(struct wtm_dwarf *reader, int is_signed);
/* A pointer as encoded; datarel and indirection are told as failures, since nothing here needs them. */
uint64_t wtm_dwarf_pointer(struct wtm_dwarf *reader, uint8_t encoding);

#endif
