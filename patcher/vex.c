/* SPDX-License-Identifier: MIT */
#include "patcher/vex.h"

/* modrm, sib and displacement behind it; 0 when cut short */
static unsigned operand_length(const uint8_t *modrm, size_t available)
{
    if (!available)
        return 0;
    unsigned mod = *modrm >> 6, rm = *modrm & 7, length = 1;
    if (mod == 3)
        return 1;
    if (rm == 4) {
        if (available < 2)
            return 0;
        length++;
        if (mod == 0 && (modrm[1] & 7) == 5)
            return length + 4;
    } else if (mod == 0 && rm == 5) {
        return length + 4;
    }
    return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Opcodes of map 1 (0f) that an immediate byte follows: shifts by a constant, shuffles, compares, inserts. */
static int map1_has_immediate(uint8_t opcode)
{
    return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
}

unsigned wtm_vex_length(const uint8_t *code, size_t available)
{
    unsigned at, map;
    if (available < 5)
        return 0;
    if (code[0] == 0xc5) {
        at = 2;
        map = 1;
    } else if (code[0] == 0xc4) {
        at = 3;
        map = code[1] & 0x1f;
    } else if (code[0] == 0x62) {
        at = 4;
        map = code[1] & 7;
    } else {
        return 0;
    }
    if (map < 1 || map > 3)
        return 0;
    uint8_t opcode = code[at];
    if (map == 1 && opcode == 0x77 && code[0] != 0x62) /* vzeroupper, vzeroall: no operand */
        return at + 1;
    unsigned operand = operand_length(code + at + 1, available - at - 1);
    if (!operand)
        return 0;
    unsigned length = at + 1 + operand + (map == 3 || (map == 1 && map1_has_immediate(opcode)));
    return length <= available ? length : 0;
}
