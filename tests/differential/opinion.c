/* SPDX-License-Identifier: MIT */
#include "opinion.h"
#include <Zydis/Zydis.h>

static const struct {
    ZydisMnemonic mnemonic;
    const char *why;
} unfit[] = {
    {ZYDIS_MNEMONIC_RDTSC, "reads a clock"},
    {ZYDIS_MNEMONIC_RDTSCP, "reads a clock"},
    {ZYDIS_MNEMONIC_RDPMC, "reads a clock"},
    {ZYDIS_MNEMONIC_RDRAND, "reads a random number"},
    {ZYDIS_MNEMONIC_RDSEED, "reads a random number"},
    {ZYDIS_MNEMONIC_CPUID, "asks which processor it is"},
    {ZYDIS_MNEMONIC_RDPID, "asks which processor it is"},
    {ZYDIS_MNEMONIC_SYSCALL, "enters the kernel"},
    {ZYDIS_MNEMONIC_SYSENTER, "enters the kernel"},
    {ZYDIS_MNEMONIC_INT, "enters the kernel"},
    {ZYDIS_MNEMONIC_INT1, "enters the kernel"},
    {ZYDIS_MNEMONIC_INT3, "enters the kernel"},
    {ZYDIS_MNEMONIC_POPF, "changes the trap flag"},
    {ZYDIS_MNEMONIC_POPFD, "changes the trap flag"},
    {ZYDIS_MNEMONIC_POPFQ, "changes the trap flag"},
    {ZYDIS_MNEMONIC_IRETQ, "changes the trap flag"},
    {ZYDIS_MNEMONIC_IRETD, "changes the trap flag"},
    {ZYDIS_MNEMONIC_WRFSBASE, "changes what the test stands on"},
    {ZYDIS_MNEMONIC_WRGSBASE, "changes what the test stands on"},
    {ZYDIS_MNEMONIC_WRPKRU, "changes what the test stands on"},
    {ZYDIS_MNEMONIC_XRSTOR, "changes what the test stands on"},
    {ZYDIS_MNEMONIC_XRSTOR64, "changes what the test stands on"},
    {ZYDIS_MNEMONIC_FNSTENV, "stores its own address"},
    {ZYDIS_MNEMONIC_FNSAVE, "stores its own address"},
    {ZYDIS_MNEMONIC_FXSAVE, "stores its own address"},
    {ZYDIS_MNEMONIC_FXSAVE64, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVE, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVE64, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVEC, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVEC64, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVEOPT, "stores its own address"},
    {ZYDIS_MNEMONIC_XSAVEOPT64, "stores its own address"},
};

static const ZydisDecoder *decoder(int fast)
{
    static ZydisDecoder decoders[2];
    static int is_ready;
    if (!is_ready) {
        for (int i = 0; i < 2; i++)
            ZydisDecoderInit(&decoders[i], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        ZydisDecoderEnableMode(&decoders[1], ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
        is_ready = 1;
    }
    return &decoders[fast];
}

static int is_relative_opcode(const ZydisDecodedInstruction *insn)
{
    if (insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
        return (insn->opcode >= 0x70 && insn->opcode <= 0x7f) || (insn->opcode >= 0xe0 && insn->opcode <= 0xe3) ||
               insn->opcode == 0xe8 || insn->opcode == 0xe9 || insn->opcode == 0xeb;
    return insn->opcode_map == ZYDIS_OPCODE_MAP_0F && insn->opcode >= 0x80 && insn->opcode <= 0x8f;
}

static void take_branch(const ZydisDecodedInstruction *from, uintptr_t address, struct opinion_insn *insn)
{
    int is_default = from->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
    insn->is_relative = from->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && is_relative_opcode(from);
    if (!insn->is_relative)
        return;
    insn->is_loop = is_default && from->opcode >= 0xe0 && from->opcode <= 0xe3;
    insn->target = address + from->length + (uintptr_t)from->raw.imm[0].value.s;
    if (is_default && from->opcode == 0xe8)
        insn->branch = OPINION_CALL;
    else
        insn->branch = is_default && (from->opcode == 0xe9 || from->opcode == 0xeb) ? OPINION_JUMP : OPINION_CONDITION;
}

int opinion_decode_fast(const uint8_t *code, size_t available, uintptr_t address, struct opinion_insn *insn)
{
    ZydisDecodedInstruction from;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder(1), NULL, code, available, &from)))
        return 0;
    *insn = (struct opinion_insn){.length = from.length};
    take_branch(&from, address, insn);
    return 1;
}

int opinion_decode(const uint8_t *code, size_t available, uintptr_t address, struct opinion_insn *insn)
{
    ZydisDecodedInstruction from;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder(0), code, available, &from, operands)))
        return 0;
    *insn = (struct opinion_insn){.length = from.length};
    take_branch(&from, address, insn);
    if (!insn->is_relative && from.meta.category == ZYDIS_CATEGORY_CALL)
        insn->branch = OPINION_CALL;
    if (!insn->is_relative && from.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
        insn->branch = OPINION_JUMP;
    insn->is_padding = from.mnemonic == ZYDIS_MNEMONIC_NOP || from.mnemonic == ZYDIS_MNEMONIC_INT3;
    for (unsigned i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if (unfit[i].mnemonic == from.mnemonic)
            insn->unfit = unfit[i].why;
    for (unsigned i = 0; i < from.operand_count; i++)
        insn->is_rip_relative |= operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                                 operands[i].mem.base == ZYDIS_REGISTER_RIP;
    for (unsigned i = 0; i < from.operand_count && !insn->unfit; i++) /* such an instruction puts off the trap */
        if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[i].reg.value == ZYDIS_REGISTER_SS &&
            operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            insn->unfit = "changes what the test stands on";
    return 1;
}

void opinion_text(uintptr_t address, size_t available, char text[OPINION_TEXT])
{
    ZydisDisassembledInstruction insn;
    text[0] = 0;
    if (ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, address, (const void *)address, available, &insn)))
        snprintf(text, OPINION_TEXT, "%s", insn.text);
}

void opinion_print(FILE *out, uintptr_t address, size_t bytes, unsigned most)
{
    ZydisDisassembledInstruction insn;
    for (uintptr_t end = address + bytes; most-- && address < end; address += insn.info.length) {
        if (ZYAN_FAILED(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, address, (const void *)address, end - address,
                                              &insn))) {
            fprintf(out, "    %#lx: (unknown)\n", (unsigned long)address);
            return;
        }
        fprintf(out, "    %#lx: ", (unsigned long)address);
        for (unsigned i = 0; i < insn.info.length; i++)
            fprintf(out, "%02x", ((const uint8_t *)address)[i]);
        fprintf(out, "%*s%s\n", (int)(32 - 2 * insn.info.length), "", insn.text);
        if (insn.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR || insn.info.meta.category == ZYDIS_CATEGORY_RET)
            return;
    }
}
