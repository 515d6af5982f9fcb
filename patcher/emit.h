/* SPDX-License-Identifier: MIT
 * Writes machine code where it will run. Any thread. */
#ifndef WTM_PATCHER_EMIT_H
#define WTM_PATCHER_EMIT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wtm_emit {
    uint8_t *at;      /* both where the next byte is written and its address */
    int out_of_reach; /* some operand did not fit: the code is void */
};

enum { WTM_JUMP_BYTES = 5, WTM_SHORT_JUMP_BYTES = 2, WTM_FAR_JUMP_BYTES = 14 };

static inline int wtm_fits32(int64_t value) { return value == (int32_t)value; }

/* Distance from the end of an instruction to its target. */
static inline int64_t wtm_distance(uintptr_t end, uintptr_t target) { return (int64_t)(target - end); }

static inline void wtm_emit_bytes(struct wtm_emit *emit, const void *bytes, size_t count)
{
    memcpy(emit->at, bytes, count);
    emit->at += count;
}
static inline void wtm_emit_byte(struct wtm_emit *emit, unsigned byte)
{
    *emit->at++ = (uint8_t)byte;
}
static inline void wtm_emit_32(struct wtm_emit *emit, uint32_t value)
{
    wtm_emit_bytes(emit, &value, sizeof value);
}
static inline void wtm_emit_64(struct wtm_emit *emit, uint64_t value)
{
    wtm_emit_bytes(emit, &value, sizeof value);
}
/* rel32 to `target`, with `behind` more bytes of the instruction following it. */
static inline void wtm_emit_relative(struct wtm_emit *emit, uintptr_t target, unsigned behind)
{
    int64_t distance = wtm_distance((uintptr_t)emit->at + 4 + behind, target);
    if (!wtm_fits32(distance))
        emit->out_of_reach = 1;
    wtm_emit_32(emit, (uint32_t)distance);
}
static inline void wtm_emit_jump(struct wtm_emit *emit, uintptr_t target)
{
    wtm_emit_byte(emit, 0xe9);
    wtm_emit_relative(emit, target, 0);
}
/* jmp *(%rip) with the target behind it: reaches everything, touches nothing */
static inline void wtm_emit_far_jump(struct wtm_emit *emit, uintptr_t target)
{
    static const uint8_t opcode[6] = {0xff, 0x25};
    wtm_emit_bytes(emit, opcode, sizeof opcode);
    wtm_emit_64(emit, target);
}

#endif
