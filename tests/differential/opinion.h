/* SPDX-License-Identifier: MIT
 * A second disassembler's opinion (Zydis) on what the patcher decided with the first. */
#ifndef WTM_TESTS_OPINION_H
#define WTM_TESTS_OPINION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPINION_MOST = 32, OPINION_TEXT = 96 };

enum opinion_branch { OPINION_NO_BRANCH, OPINION_JUMP, OPINION_CONDITION, OPINION_CALL };

struct opinion_insn {
    uint8_t length, branch;  /* enum opinion_branch, also of indirect ones */
    uint8_t is_relative;
    uint8_t is_loop;         /* loop, jrcxz: a relative branch that asks rcx */
    uint8_t is_rip_relative;
    uint8_t is_padding;      /* nop, int3 */
    const char *unfit;       /* why runs of it cannot be compared, or NULL */
    uintptr_t target;        /* of a relative branch */
};

/* 0: not an instruction. */
int opinion_decode(const uint8_t *code, size_t available, uintptr_t address, struct opinion_insn *insn);
/* As opinion_decode, for many in a row: length, branch, target only. */
int opinion_decode_fast(const uint8_t *code, size_t available, uintptr_t address, struct opinion_insn *insn);
/* One as text; "" when it is none. */
void opinion_text(uintptr_t address, size_t available, char text[OPINION_TEXT]);
/* The instructions of `bytes` bytes, at most `most`, up to a jump that leaves them. */
void opinion_print(FILE *out, uintptr_t address, size_t bytes, unsigned most);

#endif
