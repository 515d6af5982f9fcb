/* SPDX-License-Identifier: MIT
 * Every relative branch takes its longest form, so each instruction's new length is known before any address is. A
 * displaced call becomes a push of the original return address and a jump: the callee, unwinders and whoever looks at
 * the address see what they would have seen, and the callee returns to the original text behind the changed bytes. */
#include "patcher/relocate.h"
#include "patcher/emit.h"

enum {
    CONDITION_BYTES = 6,   /* 0f 8x rel32 */
    LOOP_TAIL_BYTES = 8,   /* xx 02; eb 05; e9 rel32: the displacement byte of the loop counts here */
    PUSH_BYTES = 5,        /* push $imm32, sign extended */
    HIGH_HALF_BYTES = 8,   /* movl $imm32, 4(%rsp) */
    ADDRESS_SIZE = 0x67
};

static int needs_high_half(uintptr_t return_address)
{
    return !wtm_fits32((int64_t)return_address);
}

static size_t push_size(const struct wtm_insn *insn)
{
    return PUSH_BYTES + (needs_high_half(insn->address + insn->length) ? HIGH_HALF_BYTES : 0);
}

static void emit_push(struct wtm_emit *emit, const struct wtm_insn *insn)
{
    static const uint8_t store_high[4] = {0xc7, 0x44, 0x24, 0x04};
    uintptr_t return_address = insn->address + insn->length;
    wtm_emit_byte(emit, 0x68);
    wtm_emit_32(emit, (uint32_t)return_address);
    if (needs_high_half(return_address)) {
        wtm_emit_bytes(emit, store_high, sizeof store_high);
        wtm_emit_32(emit, (uint32_t)(return_address >> 32));
    }
}

/* The operand of an indirect call. */
struct operand {
    unsigned mod, rm, sib_base, modrm_at, displacement_at, displacement_bytes;
    int32_t displacement;
    int on_stack;     /* addressed by rsp */
    int indexed;
    int is_rsp;       /* the register itself */
};

static struct operand read_operand(const struct wtm_insn *insn)
{
    const uint8_t *bytes = insn->bytes;
    struct operand operand = {.modrm_at = insn->opcode_at + 1u};
    unsigned rex = insn->opcode_at && (bytes[insn->opcode_at - 1] & 0xf0) == 0x40 ? bytes[insn->opcode_at - 1] : 0;
    unsigned modrm = bytes[operand.modrm_at];
    operand.mod = modrm >> 6;
    operand.rm = modrm & 7;
    operand.displacement_at = operand.modrm_at + 1;
    operand.is_rsp = operand.mod == 3 && operand.rm == 4 && !(rex & 1);
    if (operand.mod != 3 && operand.rm == 4) {
        unsigned sib = bytes[operand.displacement_at++];
        operand.sib_base = sib & 7;
        operand.on_stack = operand.sib_base == 4 && !(rex & 1);
        operand.indexed = (sib & 0x38) != 0x20 || (rex & 2);
    }
    operand.displacement_bytes = insn->length - operand.displacement_at;
    if (operand.displacement_bytes == 1)
        operand.displacement = (int8_t)bytes[operand.displacement_at];
    else if (operand.displacement_bytes == 4)
        memcpy(&operand.displacement, bytes + operand.displacement_at, sizeof operand.displacement);
    return operand;
}

/* Through rsp, the jump after the push needs 8 more, in a displacement of four bytes. */
static size_t call_indirect_size(const struct wtm_insn *insn, enum wtm_refusal *refusal)
{
    struct operand operand = read_operand(insn);
    if (!operand.on_stack)
        operand.displacement_bytes = 4; /* as it is */
    /* rsp itself changes with the push; what lies just below it is overwritten; an index could lead there */
    if (operand.is_rsp || (operand.on_stack && (operand.indexed || operand.displacement > INT32_MAX - 8 ||
                                                (operand.displacement < 0 && operand.displacement > -16))))
        *refusal = WTM_REFUSED_UNDECODABLE;
    return push_size(insn) + insn->length + (4 - operand.displacement_bytes);
}

static void emit_call_indirect(struct wtm_emit *emit, const struct wtm_insn *insn)
{
    struct operand operand = read_operand(insn);
    const uint8_t *bytes = insn->bytes;
    emit_push(emit, insn);
    uint8_t *start = emit->at;
    wtm_emit_bytes(emit, bytes, operand.displacement_at);
    start[operand.modrm_at] = (uint8_t)((bytes[operand.modrm_at] & ~0x38) | 4 << 3); /* /2 call -> /4 jmp */
    if (operand.on_stack) {
        start[operand.modrm_at] = (uint8_t)((start[operand.modrm_at] & 0x3f) | 2 << 6); /* disp32 */
        wtm_emit_32(emit, (uint32_t)(operand.displacement + 8));
    } else if (insn->displacement_at) {
        wtm_emit_relative(emit, insn->target, 0);
    } else {
        wtm_emit_bytes(emit, bytes + operand.displacement_at, insn->length - operand.displacement_at);
    }
}

static size_t moved_size(const struct wtm_insn *insn, enum wtm_refusal *refusal)
{
    switch (insn->kind) {
    case WTM_INSN_JUMP:
        return WTM_JUMP_BYTES;
    case WTM_INSN_CONDITION:
        return CONDITION_BYTES;
    case WTM_INSN_LOOP:
        return insn->length + LOOP_TAIL_BYTES - 1u;
    case WTM_INSN_CALL:
        return push_size(insn) + WTM_JUMP_BYTES;
    case WTM_INSN_CALL_INDIRECT:
        return call_indirect_size(insn, refusal);
    case WTM_INSN_UNMOVABLE:
        *refusal = WTM_REFUSED_UNDECODABLE;
        return 0;
    default:
        return insn->length;
    }
}

/* A call inside the window must return to bytes that stay, a branch into it must meet an instruction. */
static enum wtm_refusal check_targets(const struct wtm_move *move)
{
    for (unsigned i = 0; i < move->count; i++) {
        const struct wtm_insn *insn = &move->insns[i];
        uintptr_t end = insn->address + insn->length;
        int calls = insn->kind == WTM_INSN_CALL || insn->kind == WTM_INSN_CALL_INDIRECT;
        if (calls && end < move->site + move->changed)
            return WTM_REFUSED_BRANCH_INSIDE;
        if (!wtm_insn_is_relative(insn) || insn->target <= move->site || insn->target >= move->site + move->changed)
            continue;
        unsigned j = 0;
        while (j < move->count && move->insns[j].address != insn->target)
            j++;
        if (j == move->count)
            return WTM_REFUSED_BRANCH_INSIDE;
    }
    return WTM_REFUSED_NONE;
}

size_t wtm_relocate_size(const struct wtm_move *move, enum wtm_refusal *refusal)
{
    size_t bytes = move->returns_here ? WTM_JUMP_BYTES : 0;
    *refusal = check_targets(move);
    for (unsigned i = 0; i < move->count; i++)
        bytes += moved_size(&move->insns[i], refusal);
    return *refusal == WTM_REFUSED_NONE ? bytes : 0;
}

size_t wtm_relocate_offset(const struct wtm_move *move, unsigned insn)
{
    enum wtm_refusal ignored = WTM_REFUSED_NONE;
    size_t offset = 0;
    for (unsigned i = 0; i < insn; i++)
        offset += moved_size(&move->insns[i], &ignored);
    return offset;
}

/* Where a branch to `target` goes once its window has moved. */
static uintptr_t moved_target(const struct wtm_move *move, const uint8_t *const *places, const struct wtm_insn *insn)
{
    uintptr_t target = insn->target;
    int is_call = insn->kind == WTM_INSN_CALL;
    if (target == move->entry || target == move->site)
        return is_call ? target : (uintptr_t)places[0]; /* a call of itself is a call, a jump there is a loop */
    for (unsigned i = 1; i < move->count; i++)
        if (move->insns[i].address == target)
            return (uintptr_t)places[i];
    return target;
}

static void emit_moved(struct wtm_emit *emit, const struct wtm_insn *insn, uintptr_t target)
{
    static const uint8_t loop_tail[3] = {0x02, 0xeb, 0x05};
    switch (insn->kind) {
    case WTM_INSN_CALL:
        emit_push(emit, insn);
        /* fall through */
    case WTM_INSN_JUMP:
        wtm_emit_jump(emit, target);
        return;
    case WTM_INSN_CONDITION:
        wtm_emit_byte(emit, 0x0f);
        wtm_emit_byte(emit, 0x80u | insn->condition);
        wtm_emit_relative(emit, target, 0);
        return;
    case WTM_INSN_LOOP: /* taken: over the short jump to the long one */
        wtm_emit_bytes(emit, insn->bytes, insn->length - 1u);
        wtm_emit_bytes(emit, loop_tail, sizeof loop_tail);
        wtm_emit_jump(emit, target);
        return;
    case WTM_INSN_CALL_INDIRECT:
        emit_call_indirect(emit, insn);
        return;
    }
    if (!insn->displacement_at) {
        wtm_emit_bytes(emit, insn->bytes, insn->length);
        return;
    }
    unsigned behind = insn->length - insn->displacement_at - 4u;
    wtm_emit_bytes(emit, insn->bytes, insn->displacement_at);
    wtm_emit_relative(emit, insn->target, behind);
    wtm_emit_bytes(emit, insn->bytes + insn->displacement_at + 4, behind);
}

enum wtm_refusal wtm_relocate(const struct wtm_move *move, uint8_t *to, size_t capacity)
{
    uint8_t *places[WTM_MOST_MOVED];
    enum wtm_refusal refusal = WTM_REFUSED_NONE;
    uint8_t *place = to;
    for (unsigned i = 0; i < move->count; i++) {
        places[i] = place;
        place += moved_size(&move->insns[i], &refusal);
    }
    struct wtm_emit emit = {.at = to};
    for (unsigned i = 0; i < move->count; i++)
        emit_moved(&emit, &move->insns[i], moved_target(move, (const uint8_t *const *)places, &move->insns[i]));
    if (move->returns_here)
        wtm_emit_jump(&emit, move->site + move->window);
    if (refusal != WTM_REFUSED_NONE || emit.at != to + capacity)
        return WTM_REFUSED_UNDECODABLE;
    return emit.out_of_reach ? WTM_REFUSED_OUT_OF_REACH : WTM_REFUSED_NONE;
}
