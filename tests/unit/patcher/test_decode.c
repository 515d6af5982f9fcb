/* SPDX-License-Identifier: MIT
 * Lengths, branch targets and displacements against another disassembler (Zydis), over every function of libc; and what
 * is known to differ between disassemblers and processors, by hand. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include "own_module.h"
#include "patcher/decode.h"
#include "patcher/vex.h"

static ZydisDecoder decoder;

static int is_branch(const ZydisDecodedInstruction *other)
{
    return other->meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT || other->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR;
}

static enum wtm_insn_kind expected_kind(const ZydisDecodedInstruction *other, const ZydisDecodedOperand *operands)
{
    int relative = other->raw.imm[0].is_relative;
    switch (other->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        if (other->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return WTM_INSN_UNMOVABLE;
        return relative ? WTM_INSN_CALL : WTM_INSN_CALL_INDIRECT;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return relative ? WTM_INSN_JUMP : WTM_INSN_JUMP_INDIRECT;
    case ZYDIS_CATEGORY_RET:
        return WTM_INSN_RETURN;
    case ZYDIS_CATEGORY_COND_BR:
        if (other->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
            return WTM_INSN_UNMOVABLE;
        return other->opcode >= 0xe0 && other->opcode <= 0xe3 && other->raw.imm[0].size == 8 &&
                       other->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT
                   ? WTM_INSN_LOOP
                   : WTM_INSN_CONDITION;
    default:
        return WTM_INSN_PLAIN;
    }
}

static void compare_operands(const struct wtm_insn *insn, const ZydisDecodedInstruction *other,
                             const ZydisDecodedOperand *operands)
{
    uintptr_t at = insn->address;
    int rip = 0;
    int64_t stack_offset = 0;
    int stack = 0;
    for (unsigned i = 0; i < other->operand_count_visible; i++) {
        if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        rip |= operands[i].mem.base == ZYDIS_REGISTER_RIP;
        if (operands[i].mem.base == ZYDIS_REGISTER_RSP && operands[i].mem.index == ZYDIS_REGISTER_NONE &&
            operands[i].mem.segment == ZYDIS_REGISTER_SS) {
            stack = 1;
            stack_offset = operands[i].mem.disp.value;
        }
    }
    if (rip) {
        cr_assert_eq(insn->displacement_at, other->raw.disp.offset, "%lx: %s displacement at %u, not %u", at,
                     ZydisMnemonicGetString(other->mnemonic), insn->displacement_at, other->raw.disp.offset);
        cr_assert_eq(insn->target, at + insn->length + (uintptr_t)other->raw.disp.value, "%lx: operand", at);
    } else {
        cr_assert_eq(insn->displacement_at, 0, "%lx: %s: no rip-relative operand here", at,
                     ZydisMnemonicGetString(other->mnemonic));
    }
    cr_assert_eq(insn->memory_base == WTM_BASE_STACK, stack, "%lx: %s: rsp-based", at,
                 ZydisMnemonicGetString(other->mnemonic));
    if (stack)
        cr_assert_eq(insn->memory_offset, stack_offset, "%lx: offset from rsp", at);
}

static size_t compare(const uint8_t *code, size_t available, uintptr_t at, size_t *unknown)
{
    struct wtm_insn insn;
    ZydisDecodedInstruction other;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    int known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, available, &other, operands));
    enum wtm_decode_result result = wtm_decode(code, available, at, &insn);
    if (!known)
        return 1;
    if (result != WTM_DECODE_OK) {
        unsigned by_rule = wtm_vex_length(code, available);
        cr_assert(by_rule == 0 || by_rule == other.length, "%lx: length by rule %u, not %u", at, by_rule, other.length);
        ++*unknown;
        return other.length;
    }
    cr_assert_eq(insn.length, other.length, "%lx: %s (%02x %02x %02x %02x %02x): length %u, not %u", at,
                 ZydisMnemonicGetString(other.mnemonic), code[0], code[1], code[2], code[3], code[4], insn.length,
                 other.length);
    enum wtm_insn_kind kind = expected_kind(&other, operands);
    if (kind != WTM_INSN_PLAIN || is_branch(&other))
        cr_assert_eq(insn.kind, kind, "%lx: %s (%02x %02x %02x %02x %02x): kind %d, not %d", at,
                     ZydisMnemonicGetString(other.mnemonic), code[0], code[1], code[2], code[3], code[4], insn.kind, kind);
    else
        cr_assert(insn.kind == WTM_INSN_PLAIN || insn.kind == WTM_INSN_NOP || insn.kind == WTM_INSN_TRAP, "%lx", at);
    if (wtm_insn_is_relative(&insn))
        cr_assert_eq(insn.target, at + other.length + (uintptr_t)other.raw.imm[0].value.s, "%lx: target", at);
    compare_operands(&insn, &other, operands);
    if (code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62)
        cr_assert_eq(wtm_vex_length(code, available), other.length, "%lx: length by the rule %u, not %u", at,
                     wtm_vex_length(code, available), other.length);
    return other.length;
}

Test(decode, libc_as_zydis_sees_it, .timeout = 60)
{
    struct own_module own;
    size_t total = 0, unknown = 0;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    own_module_read("libc.so.6", &own);
    for (size_t i = 0; i < own.function_count; i++) {
        uintptr_t at = own.functions[i].address, end = at + own.functions[i].size;
        while (at < end) {
            at += compare((const uint8_t *)at, end - at, at, &unknown);
            total++;
        }
    }
    cr_expect_gt(total, 100000);
    cr_expect_lt(unknown, total / 100);
}

/* Random operands behind each opcode: more forms than a library uses. */
Test(decode, random_bytes_as_zydis_sees_them, .timeout = 60)
{
    static const uint8_t prefixes[][5] = {{0}, {1, 0x48}, {1, 0x66}, {1, 0xf2}, {1, 0xf3}, {2, 0x66, 0x48},
                                          {3, 0x66, 0x0f, 0x38}, {3, 0x66, 0x0f, 0x3a}, {1, 0x0f}, {2, 0x66, 0x0f},
                                          {2, 0xf2, 0x0f}, {2, 0xf3, 0x0f}, {2, 0xc5, 0xf9}, {3, 0xc4, 0xe2, 0x79},
                                          {3, 0xc4, 0xe3, 0x79}, {4, 0x62, 0xf1, 0x7d, 0x48},
                                          {4, 0x62, 0xf2, 0xfd, 0x48}, {4, 0x62, 0xf3, 0x7d, 0x48}};
    size_t unknown = 0, known = 0;
    uint64_t random = 88172645463325252u;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (unsigned p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            for (unsigned modrm = 0; modrm < 256; modrm += 5) { /* every mod, reg and rm, not all together */
                uint8_t code[24];
                unsigned at = prefixes[p][0];
                memcpy(code, prefixes[p] + 1, at);
                code[at++] = (uint8_t)opcode;
                code[at++] = (uint8_t)modrm;
                for (; at < sizeof code; at++, random ^= random << 13, random ^= random >> 7, random ^= random << 17)
                    code[at] = (uint8_t)random;
                struct wtm_insn insn;
                if (wtm_decode(code, 15, 0x400000, &insn) != WTM_DECODE_OK)
                    continue;
                compare(code, 15, 0x400000, &unknown);
                known++;
            }
        }
    }
    cr_expect_gt(known, 50000, "%zu", known);
}

static void expect(const char *what, enum wtm_decode_result expected, unsigned length, const uint8_t *code, size_t bytes)
{
    struct wtm_insn insn;
    enum wtm_decode_result result = wtm_decode(code, bytes, 0x1000, &insn);
    cr_expect_eq(result, expected, "%s: %d", what, result);
    if (result == WTM_DECODE_OK)
        cr_expect_eq(insn.length, length, "%s: length %u", what, insn.length);
}
#define EXPECT(what, result, length, ...)                                                                              \
    expect(what, result, length, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

Test(decode, known_differences)
{
    EXPECT("66 call", WTM_DECODE_PREFIXED, 0, 0x66, 0xe8, 0, 0, 0, 0);
    EXPECT("66 jcc", WTM_DECODE_PREFIXED, 0, 0x66, 0x0f, 0x84, 0, 0, 0, 0);
    EXPECT("66 jmp", WTM_DECODE_PREFIXED, 0, 0x66, 0xe9, 0, 0, 0, 0);
    EXPECT("f2 66 jmp", WTM_DECODE_PREFIXED, 0, 0xf2, 0x66, 0xe9, 0, 0, 0, 0);
    EXPECT("66 loop", WTM_DECODE_PREFIXED, 0, 0x66, 0xe2, 0);
    EXPECT("66 REX.W call", WTM_DECODE_OK, 8, 0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0);
    EXPECT("66 REX.R call", WTM_DECODE_PREFIXED, 0, 0x66, 0x44, 0xe8, 0, 0, 0, 0);
    EXPECT("ud1", WTM_DECODE_UNKNOWN, 0, 0x0f, 0xb9, 0xc0);
    EXPECT("ud2", WTM_DECODE_OK, 2, 0x0f, 0x0b);
    EXPECT("endbr64", WTM_DECODE_OK, 4, 0xf3, 0x0f, 0x1e, 0xfa);
    EXPECT("cut short", WTM_DECODE_UNKNOWN, 0, 0xe8, 0, 0, 0);
    EXPECT("nothing", WTM_DECODE_UNKNOWN, 0, 0x0f);
    EXPECT("long nop", WTM_DECODE_OK, 11, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
    struct wtm_insn insn;
    cr_expect_eq(wtm_decode((const uint8_t *)"\xf3\x90", 2, 0, &insn), WTM_DECODE_OK);
    cr_expect_eq(insn.kind, WTM_INSN_PLAIN, "pause is no padding");
    cr_expect_eq(wtm_decode((const uint8_t *)"\x41\x90", 2, 0, &insn), WTM_DECODE_OK);
    cr_expect_eq(insn.kind, WTM_INSN_PLAIN, "xchg %%r8,%%rax is no padding");
    cr_expect_eq(wtm_decode((const uint8_t *)"\x66\x90", 2, 0, &insn), WTM_DECODE_OK);
    cr_expect_eq(insn.kind, WTM_INSN_NOP);
    cr_expect_eq(wtm_vex_length((const uint8_t *)"\xc5\xf8\x77\x00\x00", 5), 3, "vzeroupper");
    cr_expect_eq(wtm_vex_length((const uint8_t *)"\x62\xf3\x7d\x48\x25\x05\0\0\0\0\x01", 11), 11, "vpternlogd imm8");
    cr_expect_eq(wtm_vex_length((const uint8_t *)"\x62\xf3\x7d\x48\x25\x05\0\0\0\0", 10), 0, "cut short");
    cr_expect_eq(wtm_vex_length((const uint8_t *)"\x48\x89\xf8\x00\x00", 5), 0);
}
