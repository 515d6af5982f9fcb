/* SPDX-License-Identifier: MIT
 * capstone, asked for lengths and operands. What it is known to get wrong in 4.0.2 (branches with a 66 prefix, ud1) is
 * caught by the bytes before or after. Branches are told by their opcode bytes, which leave no doubt. */
#include "patcher/decode.h"
#include "patcher/memory.h"
#include <capstone/capstone.h>
#include <string.h>

/* capstone's memory: a pool that is never given back. A size stands before each piece, for realloc. */
static struct wtm_pool capstone_pool;

static void *capstone_malloc(size_t bytes)
{
    size_t *piece = wtm_pool_take(&capstone_pool, bytes + 2 * sizeof(size_t));
    if (!piece)
        return NULL;
    piece[0] = bytes;
    return piece + 2;
}

static void *capstone_calloc(size_t count, size_t bytes)
{
    return bytes && count > SIZE_MAX / 2 / bytes ? NULL : capstone_malloc(count * bytes);
}

static void *capstone_realloc(void *old, size_t bytes)
{
    void *piece = capstone_malloc(bytes);
    if (piece && old) {
        size_t kept = ((size_t *)old)[-2];
        memcpy(piece, old, kept < bytes ? kept : bytes);
    }
    return piece;
}

static void capstone_free(void *piece)
{
}

/* Only the text of operands is printed by this, and nobody reads it. */
static int capstone_no_text(char *text, size_t size, const char *format, va_list arguments)
{
    if (size)
        *text = 0;
    return 0;
}

static csh handle;
static cs_insn *scratch;

static int open_disassembler(void)
{
    static const cs_opt_mem memory = {capstone_malloc, capstone_calloc, capstone_realloc, capstone_free,
                                      capstone_no_text};
    if (scratch)
        return 0;
    if (cs_option(0, CS_OPT_MEM, (size_t)&memory) != CS_ERR_OK || cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
        return -1;
    if (cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
        return -1;
    scratch = cs_malloc(handle);
    return scratch ? 0 : -1;
}

struct prefixes {
    uint8_t count, operand_size, repeat, rex;
};

/* A REX counts only right before the opcode; one that other prefixes follow is void. */
static struct prefixes read_prefixes(const uint8_t *code, size_t available)
{
    struct prefixes seen = {0};
    for (; seen.count < available && seen.count < WTM_LONGEST_INSTRUCTION; seen.count++) {
        uint8_t byte = code[seen.count];
        switch (byte) {
        case 0x66:
            seen.operand_size = 1;
            break;
        case 0xf3:
            seen.repeat = 1;
            break;
        case 0x67: case 0xf2: case 0xf0: case 0x2e: case 0x36: case 0x3e: case 0x26: case 0x64: case 0x65:
            break;
        default:
            if ((byte & 0xf0) != 0x40)
                return seen;
            seen.rex = byte;
            continue;
        }
        seen.rex = 0;
    }
    return seen;
}

/* The kind by the opcode; `*length` is what the instruction must have from the opcode on, 0 when that is open. */
static enum wtm_insn_kind classify(const uint8_t *opcode, size_t available, struct prefixes seen, unsigned *length)
{
    *length = 0;
    if (!available)
        return WTM_INSN_PLAIN;
    uint8_t first = opcode[0], second = available > 1 ? opcode[1] : 0;
    switch (first) {
    case 0xe8:
        *length = 5;
        return WTM_INSN_CALL;
    case 0xe9:
        *length = 5;
        return WTM_INSN_JUMP;
    case 0xeb:
        *length = 2;
        return WTM_INSN_JUMP;
    case 0xe0: case 0xe1: case 0xe2: case 0xe3:
        *length = 2;
        return WTM_INSN_LOOP;
    case 0xc3: case 0xcb: case 0xcf:
        *length = 1;
        return WTM_INSN_RETURN;
    case 0xc2: case 0xca:
        *length = 3;
        return WTM_INSN_RETURN;
    case 0xcc: case 0xf4:
        *length = 1;
        return WTM_INSN_TRAP;
    case 0x90:
        return seen.repeat || (seen.rex & 1) ? WTM_INSN_PLAIN : WTM_INSN_NOP;
    case 0xff:
        switch ((second >> 3) & 7) {
        case 2:
            return WTM_INSN_CALL_INDIRECT;
        case 3:
            return WTM_INSN_UNMOVABLE;
        case 4: case 5:
            return WTM_INSN_JUMP_INDIRECT;
        }
        return WTM_INSN_PLAIN;
    case 0xc7:
        return second == 0xf8 ? WTM_INSN_UNMOVABLE : WTM_INSN_PLAIN; /* xbegin */
    case 0x0f:
        if ((second & 0xf0) == 0x80) {
            *length = 6;
            return WTM_INSN_CONDITION;
        }
        if (second == 0x0b || second == 0xb9 || second == 0xff) /* ud2, ud1, ud0 */
            return WTM_INSN_TRAP;
        return second == 0x1f ? WTM_INSN_NOP : WTM_INSN_PLAIN;
    }
    if ((first & 0xf0) == 0x70) {
        *length = 2;
        return WTM_INSN_CONDITION;
    }
    return WTM_INSN_PLAIN;
}

static int32_t signed32(const uint8_t *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void set_target(struct wtm_insn *insn)
{
    const uint8_t *opcode = insn->bytes + insn->opcode_at;
    unsigned operand_bytes = *opcode == 0xe8 || *opcode == 0xe9 || *opcode == 0x0f ? 4 : 1;
    const uint8_t *operand = insn->bytes + insn->length - operand_bytes;
    int64_t displacement = operand_bytes == 4 ? signed32(operand) : (int8_t)*operand;
    insn->target = insn->address + insn->length + (uintptr_t)displacement;
    if (insn->kind == WTM_INSN_CONDITION)
        insn->condition = (*opcode == 0x0f ? opcode[1] : *opcode) & 15;
}

/* Finds the displacement of a rip-relative operand and makes sure of it: the byte before must be a ModRM with mod 0 and
 * rm 5. -1 when the disassembler's account and the bytes differ. */
static int set_rip_relative(struct wtm_insn *insn, const cs_x86 *x86)
{
    int claimed = 0;
    for (unsigned i = 0; i < x86->op_count; i++) {
        if (x86->operands[i].type != X86_OP_MEM)
            continue;
        if (x86->operands[i].mem.base == X86_REG_EIP)
            return -1;
        claimed |= x86->operands[i].mem.base == X86_REG_RIP;
    }
    unsigned modrm_at = x86->encoding.modrm_offset;
    if (modrm_at && modrm_at < insn->length && (insn->bytes[modrm_at] & 0xc7) == 5)
        claimed = 1;
    if (!claimed)
        return 0;
    if (!modrm_at || modrm_at + 5 > insn->length || (insn->bytes[modrm_at] & 0xc7) != 5)
        return -1;
    insn->displacement_at = (uint8_t)(modrm_at + 1);
    insn->target = insn->address + insn->length + (uintptr_t)(int64_t)signed32(insn->bytes + modrm_at + 1);
    return 0;
}

static int is_stack_register(unsigned reg)
{
    return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}
static int is_frame_register(unsigned reg)
{
    return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
}

static void set_memory(struct wtm_insn *insn, const cs_x86 *x86, unsigned id)
{
    for (unsigned i = 0; i < x86->op_count; i++) {
        const cs_x86_op *op = &x86->operands[i];
        if (op->type != X86_OP_MEM || op->mem.index != X86_REG_INVALID || op->mem.segment == X86_REG_FS ||
            op->mem.segment == X86_REG_GS)
            continue;
        if (op->mem.base == X86_REG_RSP)
            insn->memory_base = WTM_BASE_STACK;
        else if (op->mem.base == X86_REG_RBP)
            insn->memory_base = WTM_BASE_FRAME;
        else
            continue;
        insn->memory_offset = op->mem.disp;
        insn->memory_used = id == X86_INS_LEA || insn->kind == WTM_INSN_NOP ? 0 : op->size ? op->size : 8;
    }
}

/* rsp or rbp written by an ordinary destination operand */
static void set_moves(struct wtm_insn *insn, const cs_x86 *x86, unsigned id)
{
    const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
    if (id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_BT)
        return;
    if (x86->op_count == 2 && id == X86_INS_XCHG && from->type == X86_OP_REG) {
        if (is_stack_register(from->reg))
            insn->stack = WTM_STACK_LOST;
        if (is_frame_register(from->reg))
            insn->frame = WTM_FRAME_LOST;
    }
    if (!x86->op_count || to->type != X86_OP_REG)
        return;
    int immediate = x86->op_count == 2 && from->type == X86_OP_IMM;
    int address = x86->op_count == 2 && from->type == X86_OP_MEM && id == X86_INS_LEA &&
                  from->mem.index == X86_REG_INVALID;
    int move = x86->op_count == 2 && from->type == X86_OP_REG && id == X86_INS_MOV;
    if (is_stack_register(to->reg)) {
        insn->stack = WTM_STACK_LOST;
        if (to->reg == X86_REG_RSP && immediate && (id == X86_INS_ADD || id == X86_INS_SUB)) {
            insn->stack = WTM_STACK_ADD;
            insn->stack_delta = (int32_t)(id == X86_INS_ADD ? from->imm : -from->imm);
        } else if (to->reg == X86_REG_RSP && ((address && from->mem.base == X86_REG_RSP))) {
            insn->stack = WTM_STACK_ADD;
            insn->stack_delta = (int32_t)from->mem.disp;
        } else if (to->reg == X86_REG_RSP && address && from->mem.base == X86_REG_RBP) {
            insn->stack = WTM_STACK_FROM_FRAME;
            insn->stack_delta = (int32_t)from->mem.disp;
        } else if (to->reg == X86_REG_RSP && move && from->reg == X86_REG_RBP) {
            insn->stack = WTM_STACK_FROM_FRAME;
        }
    } else if (is_frame_register(to->reg) && id != X86_INS_PUSH) {
        insn->frame = WTM_FRAME_LOST;
        if (to->reg == X86_REG_RBP && move && from->reg == X86_REG_RSP) {
            insn->frame = WTM_FRAME_FROM_STACK;
        } else if (to->reg == X86_REG_RBP && address && from->mem.base == X86_REG_RSP) {
            insn->frame = WTM_FRAME_FROM_STACK;
            insn->frame_delta = (int32_t)from->mem.disp;
        }
    }
}

static void set_stack(struct wtm_insn *insn, const cs_x86 *x86, unsigned id)
{
    set_memory(insn, x86, id);
    switch (id) {
    case X86_INS_PUSH: case X86_INS_PUSHFQ:
        insn->stack = WTM_STACK_ADD;
        insn->stack_delta = x86->op_count && x86->operands[0].size == 2 ? -2 : -8;
        return;
    case X86_INS_POP: case X86_INS_POPFQ:
        set_moves(insn, x86, id);
        insn->pops = 1;
        if (insn->stack != WTM_STACK_LOST) {
            insn->stack = WTM_STACK_ADD;
            insn->stack_delta = x86->op_count && x86->operands[0].size == 2 ? 2 : 8;
        }
        return;
    case X86_INS_LEAVE:
        insn->stack = WTM_STACK_FROM_FRAME;
        insn->stack_delta = 8;
        insn->frame = WTM_FRAME_LOST;
        return;
    case X86_INS_ENTER:
        insn->stack = WTM_STACK_LOST;
        insn->frame = WTM_FRAME_LOST;
        return;
    default:
        set_moves(insn, x86, id);
    }
}

enum wtm_decode_result wtm_decode(const uint8_t *code, size_t available, uintptr_t address, struct wtm_insn *insn)
{
    memset(insn, 0, sizeof *insn);
    if (available > WTM_LONGEST_INSTRUCTION)
        available = WTM_LONGEST_INSTRUCTION;
    insn->bytes = code;
    insn->address = address;
    struct prefixes seen = read_prefixes(code, available);
    unsigned expected;
    enum wtm_insn_kind kind = classify(code + seen.count, available - seen.count, seen, &expected);
    int branches = (kind >= WTM_INSN_JUMP && kind <= WTM_INSN_RETURN) || kind == WTM_INSN_UNMOVABLE;
    if (branches && seen.operand_size && !(seen.rex & 8))
        return WTM_DECODE_PREFIXED;
    if (open_disassembler() < 0)
        return WTM_DECODE_NO_MEMORY;

    const uint8_t *cursor = code;
    uint64_t at = address;
    if (!cs_disasm_iter(handle, &cursor, &available, &at, scratch))
        return WTM_DECODE_UNKNOWN;
    insn->length = (uint8_t)scratch->size;
    insn->opcode_at = seen.count;
    insn->kind = (uint8_t)kind;
    if (insn->length <= seen.count || (expected && seen.count + expected != insn->length))
        return WTM_DECODE_UNKNOWN;
    if (kind == WTM_INSN_TRAP && code[seen.count] == 0x0f && code[seen.count + 1] != 0x0b)
        return WTM_DECODE_UNKNOWN; /* ud1, ud0: length wrong, and nobody's entry */
    const cs_x86 *x86 = &scratch->detail->x86;
    if (wtm_insn_is_relative(insn))
        set_target(insn);
    else if (set_rip_relative(insn, x86) < 0)
        return WTM_DECODE_UNKNOWN;
    set_stack(insn, x86, scratch->id);
    return WTM_DECODE_OK;
}

/* Number of the general register that `reg` is (a part of); 16: none. */
static unsigned general_register(unsigned reg)
{
    static const uint16_t names[16][4] = {
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},     {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},     {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
        {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
        {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B}, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}};
    if (reg == X86_REG_AH || reg == X86_REG_CH || reg == X86_REG_DH || reg == X86_REG_BH)
        return reg == X86_REG_AH ? 0 : reg == X86_REG_CH ? 1 : reg == X86_REG_DH ? 2 : 3;
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 4; j++)
            if (names[i][j] == reg)
                return i;
    return 16;
}

static uint32_t written_registers(const struct wtm_insn *insn, const cs_x86 *x86, unsigned id)
{
    cs_regs reads, writes;
    uint8_t read_count, write_count;
    uint32_t written = 0;
    if (cs_regs_access(handle, scratch, reads, &read_count, writes, &write_count) == CS_ERR_OK)
        for (unsigned i = 0; i < write_count; i++)
            written |= 1u << general_register(writes[i]);
    if (insn->kind != WTM_INSN_PLAIN || id == X86_INS_CMP || id == X86_INS_TEST || id == X86_INS_PUSH || id == X86_INS_BT)
        return written & 0xffff;
    /* its tables do not know all: a first operand that is a register counts as written */
    for (unsigned i = 0; i < x86->op_count && (i == 0 || id == X86_INS_XCHG || id == X86_INS_XADD); i++)
        if (x86->operands[i].type == X86_OP_REG)
            written |= 1u << general_register(x86->operands[i].reg);
    return written & 0xffff;
}

/* mov r64, r64; lea disp(r64), r64; add or sub of a constant. 32-bit forms lose the upper half: no copies. */
static void set_copy(struct wtm_effects *effects, const cs_x86 *x86, unsigned id)
{
    const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
    if (x86->op_count != 2 || to->type != X86_OP_REG || to->size != 8)
        return;
    unsigned source = 16;
    if (id == X86_INS_MOV && from->type == X86_OP_REG) {
        source = general_register(from->reg);
    } else if (id == X86_INS_LEA && from->mem.index == X86_REG_INVALID) {
        source = general_register(from->mem.base);
        effects->delta = from->mem.disp;
    } else if ((id == X86_INS_ADD || id == X86_INS_SUB) && from->type == X86_OP_IMM) {
        source = general_register(to->reg);
        effects->delta = id == X86_INS_ADD ? from->imm : -from->imm;
    }
    unsigned destination = general_register(to->reg);
    effects->copies = source < 16 && destination < 16 && destination != 4; /* rsp is followed apart */
    effects->to = (uint8_t)destination;
    effects->from = (uint8_t)source;
}

void wtm_decode_effects(const struct wtm_insn *insn, int with_written, struct wtm_effects *effects)
{
    const cs_x86 *x86 = &scratch->detail->x86;
    unsigned id = scratch->id;
    memset(effects, 0, sizeof *effects);
    if (with_written)
        effects->written = written_registers(insn, x86, id);
    for (unsigned i = 0; i < x86->op_count; i++) {
        const cs_x86_op *op = &x86->operands[i];
        unsigned base = op->type == X86_OP_MEM ? general_register(op->mem.base) : 16;
        if (base == 16 || op->mem.index != X86_REG_INVALID || op->mem.segment == X86_REG_FS ||
            op->mem.segment == X86_REG_GS || id == X86_INS_LEA || insn->kind == WTM_INSN_NOP)
            continue;
        effects->memory_register = (uint8_t)base;
        effects->memory_offset = op->mem.disp;
        effects->memory_used = op->size ? op->size : 8;
    }
    set_copy(effects, x86, id);
}
