/* SPDX-License-Identifier: MIT
 * Lengths of VEX and EVEX coded instructions by the rules of the encoding alone (Intel SDM vol. 2, 2.3 and 2.7), for those that
 * the disassembler is too old to know. Only a length: good for walking on to the next instruction, not for moving one. */
#ifndef WTM_PATCHER_VEX_H
#define WTM_PATCHER_VEX_H

#include <stddef.h>
#include <stdint.h>

/* 0 when it is not such an instruction, or cut short. */
unsigned wtm_vex_length(const uint8_t *code, size_t available);

#endif
