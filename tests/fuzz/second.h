/* SPDX-License-Identifier: MIT
 * A second disassembler's (Zydis) judgement of a relocated copy, instruction by instruction. */
#ifndef WTM_TESTS_FUZZ_SECOND_H
#define WTM_TESTS_FUZZ_SECOND_H

#include "patcher/patcher.h"

/* The copy at patch->body does what the first patch->window bytes of `original` (which stood at patch->site) did: the same
 * instructions, targets and operands, calls that push the address they pushed, and the way back behind the window. `end` is
 * the function's. NULL when it does, else what is wrong. */
const char *second_judges_copy(const struct wtm_patch *patch, const uint8_t *original, uintptr_t end);

/* A relative branch that is met when [from, to), whose bytes are at `original`, is decoded instruction by instruction, and that
 * lies behind `behind` leads into [low, high): its address, 0 when there is none. */
uintptr_t second_finds_branch(const uint8_t *original, uintptr_t from, uintptr_t to, uintptr_t behind, uintptr_t low,
                              uintptr_t high);

#endif
