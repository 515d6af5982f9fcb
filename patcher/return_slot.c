/* SPDX-License-Identifier: MIT
 * Does a function look at its own return address? Follows rsp and rbp through the instructions that run one after the
 * other from the entry: nearly all that do are found there. The rest of it is looked at where its bytes give reason to. */
#include "patcher/return_slot.h"
#include "patcher/flow.h"
#include "patcher/return_late.h"
#include <string.h>

enum { LONGEST_WALK = 48, SLOT_BYTES = 8 };

struct frame {
    int64_t stack, frame; /* rsp and rbp, less rsp at the entry */
    int stack_known, frame_known;
};

/* lock or $0,(%rsp) or lock add $0,(%rsp), with or without REX.W: full memory barriers of compilers and of HotSpot. They leave
 * what stands there as it is. */
int wtm_return_is_fence(const struct wtm_insn *insn)
{
    enum { LOCK = 0xf0, REX_W = 0x48, GROUP1_BYTE = 0x83, ADD_SIB = 0x04, OR_SIB = 0x0c, RSP = 0x24 };
    const uint8_t *code = insn->bytes;
    if (*code++ != LOCK)
        return 0;
    code += *code == REX_W;
    return insn->bytes + insn->length == code + 4 && code[0] == GROUP1_BYTE && (code[1] == ADD_SIB || code[1] == OR_SIB) &&
           code[2] == RSP && code[3] == 0;
}

static int touches_slot(const struct frame *frame, const struct wtm_insn *insn)
{
    if (!insn->memory_used || wtm_return_is_fence(insn))
        return 0;
    int64_t offset;
    if (insn->memory_base == WTM_BASE_STACK && frame->stack_known)
        offset = frame->stack + insn->memory_offset;
    else if (insn->memory_base == WTM_BASE_FRAME && frame->frame_known)
        offset = frame->frame + insn->memory_offset;
    else
        return 0;
    return offset < SLOT_BYTES && offset + insn->memory_used > 0;
}

static void advance(struct frame *frame, const struct wtm_insn *insn)
{
    struct frame before = *frame;
    switch (insn->stack) {
    case WTM_STACK_ADD:
        frame->stack += insn->stack_delta;
        break;
    case WTM_STACK_FROM_FRAME:
        frame->stack = before.frame + insn->stack_delta;
        frame->stack_known = before.frame_known;
        break;
    case WTM_STACK_LOST:
        frame->stack_known = 0;
        break;
    }
    if (insn->frame == WTM_FRAME_FROM_STACK) {
        frame->frame = before.stack + insn->frame_delta;
        frame->frame_known = before.stack_known;
    } else if (insn->frame == WTM_FRAME_LOST) {
        frame->frame_known = 0;
    }
}

enum wtm_refusal wtm_flow_return_slot(uintptr_t start, uintptr_t end)
{
    struct frame frame = {.stack_known = 1};
    struct wtm_return_frame seen = {0, 0};
    uintptr_t at = start;
    for (unsigned i = 0; i < LONGEST_WALK && at < end && (frame.stack_known || frame.frame_known); i++) {
        struct wtm_insn insn;
        if (wtm_decode((const uint8_t *)at, end - at, at, &insn) != WTM_DECODE_OK)
            break;
        if (insn.pops && frame.stack_known && frame.stack >= 0 && frame.stack < SLOT_BYTES)
            return WTM_REFUSED_POPS_RETURN;
        if (touches_slot(&frame, &insn))
            return WTM_REFUSED_READS_RETURN;
        at += insn.length;
        if (wtm_insn_ends(&insn))
            break;
        if (insn.kind == WTM_INSN_CALL && insn.target > start && insn.target < end) {
            if (insn.target != at) /* a call inside the function: what it leaves on the stack is not known */
                break;
            frame.stack -= SLOT_BYTES; /* call of the next instruction: pushes its address */
        }
        advance(&frame, &insn);
        if (frame.stack_known && insn.stack == WTM_STACK_ADD && insn.stack_delta < -8 && !seen.lowered)
            seen = (struct wtm_return_frame){-insn.stack_delta, -frame.stack};
        if (frame.stack_known && frame.stack > 0)
            return WTM_REFUSED_POPS_RETURN; /* add $8,%rsp, lea 8(%rsp),%rsp */
    }
    return wtm_return_late(start, end, &seen);
}
