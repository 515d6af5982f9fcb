/* SPDX-License-Identifier: MIT
 * A look at a function's bytes, without decoding: could an instruction in it look at the return address? Compilers reach it by
 * the frame pointer (8(%rbp)) or by rsp and the size of the frame; who writes assembler takes what he likes, in few bytes. */
#include "patcher/return_hint.h"
#include <string.h>

enum { MOST_FRAMES = 8, SAVED_BYTES = 7 * 8, SMALL_BYTES = 256 };

struct hints {
    const struct wtm_return_frame *known;
    int64_t frames[MOST_FRAMES]; /* by how much rsp is lowered, each once */
    unsigned frame_count;
    int has_frame_pointer, has_other_pointer, copies_stack, copies_frame, pops, jumps;
};

static void add_frame(struct hints *hints, int64_t bytes)
{
    for (unsigned i = 0; i < hints->frame_count; i++)
        if (hints->frames[i] == bytes)
            return;
    if (hints->frame_count < MOST_FRAMES)
        hints->frames[hints->frame_count++] = bytes;
}

/* mov %rsp,%r64, in both encodings; rsp is register 4. Gives 1 + the destination's low bits, or 0. */
static unsigned copies_stack(const uint8_t *at)
{
    if ((at[0] & 0xfe) == 0x48 && at[1] == 0x89 && (at[2] & 0xf8) == 0xe0) /* REX.W or REX.WB */
        return 1u + (at[2] & 7) + ((at[0] & 1) << 3);
    if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8b && (at[2] & 0xc7) == 0xc4) /* REX.W or REX.WR */
        return 1u + ((at[2] >> 3) & 7) + ((at[0] & 4) << 1);
    return 0;
}

static void collect(const uint8_t *at, const uint8_t *end, struct hints *hints)
{
    for (; at + 4 <= end; at++) {
        if (at[0] == 0x48 && at[2] == 0xec && (at[1] == 0x83 || at[1] == 0x81)) { /* sub $imm,%rsp */
            int32_t large = 0;
            if (at[1] == 0x81 && at + 7 <= end)
                memcpy(&large, at + 3, sizeof large);
            add_frame(hints, at[1] == 0x83 ? (int8_t)at[3] : large);
        }
        if (at[0] == 0x48 && at[1] == 0x8d && at[2] == 0x6c && at[3] == 0x24) /* lea N(%rsp),%rbp */
            hints->has_other_pointer = 1;
        unsigned copy = copies_stack(at);
        hints->has_frame_pointer |= copy == 1 + 5;
        hints->copies_stack |= copy && copy != 1 + 5;
        hints->copies_frame |= (at[0] & 0xfe) == 0x48 && at[1] == 0x89 && (at[2] & 0xf8) == 0xe8; /* mov %rbp,%r64 */
        hints->jumps |= (at[0] == 0xff && (at[1] & 0xf8) == 0xe0) || ((at[0] & 0xf8) == 0x50 && at[1] == 0xc3); /* push; ret */
        hints->pops |= (at[0] & 0xf8) == 0x58;
    }
}

/* The return address lies above the frame and some saved registers; where their number is known, exactly there. */
static int may_be_slot(const struct hints *hints, int64_t displacement)
{
    for (unsigned i = 0; i < hints->frame_count; i++) {
        int64_t above = displacement - hints->frames[i];
        if (hints->known && hints->frames[i] == hints->known->lowered)
            above -= hints->known->depth - hints->known->lowered;
        else if (above >= 8 && above < SAVED_BYTES + 8)
            return 1;
        if (above >= 0 && above < 8)
            return 1;
    }
    return 0;
}

/* A ModRM byte with a displacement from rbp or rsp that may be the return address's; not of a lea, the end of a local array. */
static int addresses_slot(const uint8_t *at, const uint8_t *end, const struct hints *hints)
{
    enum { LEA = 0x8d };
    int32_t displacement = 0;
    if (at[-1] == LEA)
        return 0;
    if ((at[0] & 0xc7) == 0x45 && at[1] >= 8)
        return at[1] < 16 ? hints->has_frame_pointer | hints->has_other_pointer : at[1] < 0x80 && hints->has_other_pointer;
    if ((at[0] & 7) != 4 || at[1] != 0x24 || at[0] >= 0xc0)
        return 0;
    if (at[0] >= 0x80) {
        if (at + 6 > end)
            return 0;
        memcpy(&displacement, at + 2, sizeof displacement);
    } else if (at[0] >= 0x40) {
        displacement = (int8_t)at[2];
    }
    return may_be_slot(hints, displacement);
}

int wtm_return_hint(uintptr_t start, uintptr_t end, const struct wtm_return_frame *known)
{
    struct hints hints = {.known = known->lowered ? known : NULL};
    const uint8_t *at = (const uint8_t *)start, *last = (const uint8_t *)end;
    collect(at, last, &hints);
    if (!hints.frame_count)
        add_frame(&hints, 0);
    if (hints.frame_count == MOST_FRAMES ||
        (end - start <= SMALL_BYTES &&
         (hints.copies_stack || (hints.has_frame_pointer && hints.copies_frame) || (hints.pops && hints.jumps))))
        return 1;
    for (at++; at + 3 <= last; at++)
        if (addresses_slot(at, last, &hints))
            return 1;
    return 0;
}
