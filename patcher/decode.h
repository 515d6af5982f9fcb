/* SPDX-License-Identifier: MIT
 * One x86-64 instruction, reduced to what moving it and judging it needs. decode.c is the only file that knows the
 * disassembler. One thread at a time; never enters libc, see capstone_x86_only.c. */
#ifndef WTM_PATCHER_DECODE_H
#define WTM_PATCHER_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum { WTM_LONGEST_INSTRUCTION = 15 };

enum wtm_insn_kind {
    WTM_INSN_PLAIN = 0,
    WTM_INSN_NOP,
    WTM_INSN_JUMP,          /* jmp rel8, rel32 */
    WTM_INSN_CONDITION,     /* jcc rel8, rel32 */
    WTM_INSN_LOOP,          /* loop, loope, loopne, jrcxz, jecxz */
    WTM_INSN_CALL,          /* call rel32 */
    WTM_INSN_JUMP_INDIRECT, /* jmp through a register or memory, far jumps */
    WTM_INSN_CALL_INDIRECT, /* call through a register or memory */
    WTM_INSN_RETURN,
    WTM_INSN_TRAP,          /* int3, hlt, ud: what follows is not reached */
    WTM_INSN_UNMOVABLE      /* right where it is, not to be moved: xbegin, far calls */
};

/* What an instruction does with rsp and rbp, as far as it can be followed. */
enum wtm_insn_stack {
    WTM_STACK_SAME = 0,
    WTM_STACK_ADD,        /* rsp += stack_delta */
    WTM_STACK_FROM_FRAME, /* rsp = rbp + stack_delta */
    WTM_STACK_LOST        /* rsp is something else now */
};
enum wtm_insn_frame {
    WTM_FRAME_SAME = 0,
    WTM_FRAME_FROM_STACK, /* rbp = rsp + frame_delta, rsp as before the instruction */
    WTM_FRAME_LOST
};
enum wtm_insn_base { WTM_BASE_OTHER = 0, WTM_BASE_STACK, WTM_BASE_FRAME };

struct wtm_insn {
    const uint8_t *bytes;     /* where it was read */
    uintptr_t address;        /* where it runs */
    uintptr_t target;         /* of a relative branch; of a rip-relative operand */
    int64_t memory_offset;    /* of an rsp- or rbp-based operand without index */
    int32_t stack_delta, frame_delta;
    uint8_t length;
    uint8_t kind;             /* enum wtm_insn_kind */
    uint8_t opcode_at;        /* first byte behind the legacy and REX prefixes */
    uint8_t condition;        /* low four bits of a jcc's opcode */
    uint8_t displacement_at;  /* of a rip-relative operand's 4 bytes; 0: there is none */
    uint8_t stack, frame;     /* enum wtm_insn_stack, wtm_insn_frame */
    uint8_t memory_base;      /* enum wtm_insn_base */
    uint8_t memory_used;      /* bytes read or written there; 0 for lea */
    uint8_t pops;             /* reads (rsp) and drops it; not a return */
};

enum wtm_decode_result {
    WTM_DECODE_OK = 0,
    WTM_DECODE_UNKNOWN,  /* not an instruction, or one that the disassembler does not know */
    WTM_DECODE_PREFIXED, /* a branch with an operand size prefix: processors differ about its length */
    WTM_DECODE_NO_MEMORY
};

/* Decodes the instruction that `code` holds and that runs at `address`. */
enum wtm_decode_result wtm_decode(const uint8_t *code, size_t available, uintptr_t address, struct wtm_insn *insn);

/* What an instruction does with the sixteen general registers, numbered as in encodings (rax 0, rsp 4, r15 15). */
struct wtm_effects {
    uint32_t written;         /* bit by register: written, whole or in part; left 0 unless asked for, since it is dear */
    uint8_t copies;           /* register `to` = register `from`, as it was before, + `delta` */
    uint8_t to, from;
    uint8_t memory_register;  /* of an operand in memory without index and segment, with `memory_used` != 0 */
    uint8_t memory_used;      /* bytes read or written there */
    int64_t delta, memory_offset;
};
/* Of the instruction that was decoded last, with success. */
void wtm_decode_effects(const struct wtm_insn *insn, int with_written, struct wtm_effects *effects);

/* True when nothing after it runs without being jumped to. */
static inline int wtm_insn_ends(const struct wtm_insn *insn)
{
    return insn->kind == WTM_INSN_JUMP || insn->kind == WTM_INSN_JUMP_INDIRECT || insn->kind == WTM_INSN_RETURN ||
           insn->kind == WTM_INSN_TRAP;
}
static inline int wtm_insn_is_relative(const struct wtm_insn *insn)
{
    return insn->kind >= WTM_INSN_JUMP && insn->kind <= WTM_INSN_CALL;
}
/* endbr64: f3 0f 1e fa */
static inline int wtm_is_endbr64(const uint8_t *code)
{
    return code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa;
}

#endif
