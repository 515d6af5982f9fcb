/* SPDX-License-Identifier: MIT */
#include "second.h"
#include <Zydis/Zydis.h>
#include <string.h>

enum { MOST = WTM_MAX_WINDOW };

struct insn {
    ZydisDecodedInstruction info;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uintptr_t at;         /* where it stood */
    const uint8_t *bytes; /* as it was */
    const uint8_t *copy;  /* where its copy begins */
};

struct walk {
    const struct wtm_patch *patch;
    struct insn insns[MOST];
    unsigned count;
    const uint8_t *at; /* in the copy */
    int is_cut;        /* at what is no instruction */
    const char *wrong;
};

static const ZydisDecoder *decoder(void)
{
    static ZydisDecoder one;
    static int is_ready;
    if (!is_ready)
        ZydisDecoderInit(&one, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    is_ready = 1;
    return &one;
}

static int decode(const uint8_t *bytes, size_t available, struct insn *insn)
{
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), bytes, available, &insn->info, insn->operands));
}

static int is_branch(const struct insn *insn)
{
    return insn->info.raw.imm[0].is_relative;
}

static uintptr_t branch_target(const struct insn *insn, uintptr_t at)
{
    return at + insn->info.length + (uintptr_t)insn->info.raw.imm[0].value.s;
}

static const ZydisDecodedOperand *memory_of(const struct insn *insn)
{
    for (unsigned i = 0; i < insn->info.operand_count; i++)
        if (insn->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            insn->operands[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            return &insn->operands[i];
    return NULL;
}

static int is_rip_relative(const struct insn *insn)
{
    const ZydisDecodedOperand *memory = memory_of(insn);
    return memory && memory->mem.base == ZYDIS_REGISTER_RIP;
}

static uintptr_t rip_target(const struct insn *insn, uintptr_t at)
{
    return at + insn->info.length + (uintptr_t)insn->info.raw.disp.value;
}

static int take(struct walk *walk, const void *expected, size_t count, const char *wrong)
{
    if (memcmp(walk->at, expected, count)) {
        walk->wrong = wrong;
        return 0;
    }
    walk->at += count;
    return 1;
}

/* A rel32 that leads to where `target` now is. */
static int take_displacement(struct walk *walk, uintptr_t target, int is_call)
{
    const struct wtm_patch *patch = walk->patch;
    int32_t displacement;
    memcpy(&displacement, walk->at, sizeof displacement);
    walk->at += sizeof displacement;
    uintptr_t leads = (uintptr_t)walk->at + (uintptr_t)(intptr_t)displacement, wanted = target;
    if (!is_call && (target == patch->entry || target == patch->site))
        wanted = patch->body;
    for (unsigned i = 1; i < walk->count; i++)
        if (walk->insns[i].at == target)
            wanted = (uintptr_t)walk->insns[i].copy;
    if (leads != wanted)
        walk->wrong = "a branch leads somewhere else";
    else if (target > patch->site && target < patch->site + patch->changed && wanted == target)
        walk->wrong = "a branch leads into bytes that change";
    return !walk->wrong;
}

static int take_push(struct walk *walk, uintptr_t value)
{
    static const uint8_t high[4] = {0xc7, 0x44, 0x24, 0x04};
    uint32_t low_word = (uint32_t)value, high_word = (uint32_t)(value >> 32);
    const char *wrong = "a call pushes something else";
    if (!take(walk, (const uint8_t[]){0x68}, 1, wrong) || !take(walk, &low_word, sizeof low_word, wrong))
        return 0;
    return (intptr_t)value == (int32_t)value ||
           (take(walk, high, sizeof high, wrong) && take(walk, &high_word, sizeof high_word, wrong));
}

static int take_branch(struct walk *walk, const struct insn *insn)
{
    uintptr_t target = branch_target(insn, insn->at);
    uint8_t opcode = insn->info.opcode;
    int is_call = insn->info.meta.category == ZYDIS_CATEGORY_CALL;
    if (is_call && !take_push(walk, insn->at + insn->info.length))
        return 0;
    if (is_call || insn->info.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
        return take(walk, (const uint8_t[]){0xe9}, 1, "not the jump it was") && take_displacement(walk, target, is_call);
    if (insn->info.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && opcode >= 0xe0 && opcode <= 0xe3)
        return take(walk, insn->bytes, insn->info.length - 1u, "not the loop it was") &&
               take(walk, (const uint8_t[]){0x02, 0xeb, 0x05, 0xe9}, 4, "not a loop's way out") &&
               take_displacement(walk, target, 0);
    return take(walk, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (opcode & 15))}, 2, "not the condition it was") &&
           take_displacement(walk, target, 0);
}

/* An indirect call became a push and a jump through the same operand, rsp's move accounted for. */
static int take_call(struct walk *walk, const struct insn *insn)
{
    struct insn jump;
    if (!take_push(walk, insn->at + insn->info.length))
        return 0;
    if (!decode(walk->at, 15, &jump) || jump.info.mnemonic != ZYDIS_MNEMONIC_JMP) {
        walk->wrong = "not a jump where a call was";
        return 0;
    }
    const ZydisDecodedOperand *was = &insn->operands[0], *is = &jump.operands[0];
    int same = was->type == is->type && was->size == is->size;
    if (same && was->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        same = was->reg.value == is->reg.value && was->reg.value != ZYDIS_REGISTER_RSP;
    } else if (same && was->mem.base == ZYDIS_REGISTER_RIP) {
        same = rip_target(insn, insn->at) == rip_target(&jump, (uintptr_t)walk->at) && is->mem.base == ZYDIS_REGISTER_RIP;
    } else if (same) {
        int64_t moved = was->mem.base == ZYDIS_REGISTER_RSP || was->mem.base == ZYDIS_REGISTER_ESP ? 8 : 0;
        same = was->mem.base == is->mem.base && was->mem.index == is->mem.index && was->mem.scale == is->mem.scale &&
               was->mem.segment == is->mem.segment && was->mem.disp.value + moved == is->mem.disp.value &&
               !(moved && was->mem.index != ZYDIS_REGISTER_NONE);
    }
    walk->at += jump.info.length;
    if (!same)
        walk->wrong = "a call through something else";
    return same;
}

/* The same bytes; a rip-relative operand's displacement differs and leads to the same place. */
static int take_plain(struct walk *walk, const struct insn *insn)
{
    struct insn copy;
    if (!is_rip_relative(insn))
        return take(walk, insn->bytes, insn->info.length, "not the same instruction");
    size_t at = insn->info.raw.disp.offset;
    int same = decode(walk->at, 15, &copy) && copy.info.length == insn->info.length && !memcmp(walk->at, insn->bytes, at) &&
               !memcmp(walk->at + at + 4, insn->bytes + at + 4, insn->info.length - at - 4) && is_rip_relative(&copy) &&
               rip_target(&copy, (uintptr_t)walk->at) == rip_target(insn, insn->at);
    walk->at += insn->info.length;
    if (!same)
        walk->wrong = "an operand somewhere else";
    return same;
}

static size_t copy_bytes(const struct insn *insn)
{
    uintptr_t behind = insn->at + insn->info.length;
    size_t push = (intptr_t)behind == (int32_t)behind ? 5 : 13;
    int is_call = insn->info.meta.category == ZYDIS_CATEGORY_CALL;
    if (!is_branch(insn)) {
        const ZydisDecodedOperand *memory = memory_of(insn);
        int on_stack = is_call && memory && memory->mem.base == ZYDIS_REGISTER_RSP;
        size_t grown = on_stack ? 4u - insn->info.raw.disp.size / 8u : 0u;
        return insn->info.length + (is_call ? push + grown : 0);
    }
    if (is_call)
        return push + 5;
    if (insn->info.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
        return 5;
    int loops = insn->info.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->info.opcode >= 0xe0;
    return loops ? insn->info.length + 7u : 6u;
}

/* Decodes the window; 0 when the second disassembler sees other instructions there. What is none to it (mov to cs, say, which the
 * first one takes for an instruction) faults: nothing behind it is looked at. */
static int read_window(struct walk *walk, const uint8_t *original, uintptr_t end)
{
    const struct wtm_patch *patch = walk->patch;
    const uint8_t *copy = (const uint8_t *)patch->body;
    size_t at = 0, inside = end - patch->site < patch->window ? end - patch->site : patch->window;
    while (at < inside && walk->count < MOST) {
        struct insn *insn = &walk->insns[walk->count];
        insn->at = patch->site + at;
        insn->bytes = original + at;
        insn->copy = copy;
        if (!decode(insn->bytes, 15, insn)) {
            walk->is_cut = 1;
            return 1;
        }
        at += insn->info.length;
        copy += copy_bytes(insn);
        walk->count++;
    }
    return at == inside && walk->count;
}

static int runs_on(const struct insn *insn)
{
    switch (insn->info.mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
        return 0;
    default:
        return insn->info.meta.category != ZYDIS_CATEGORY_UNCOND_BR && insn->info.meta.category != ZYDIS_CATEGORY_RET;
    }
}

const char *second_judges_copy(const struct wtm_patch *patch, const uint8_t *original, uintptr_t end)
{
    struct walk walk = {.patch = patch, .at = (const uint8_t *)patch->body};
    if (!read_window(&walk, original, end))
        return "the window ends within an instruction";
    for (unsigned i = 0; i < walk.count; i++) {
        const struct insn *insn = &walk.insns[i];
        if (walk.at != insn->copy)
            return "a copy has another length";
        if (is_branch(insn) ? !take_branch(&walk, insn) :
            insn->info.meta.category == ZYDIS_CATEGORY_CALL ? !take_call(&walk, insn) : !take_plain(&walk, insn))
            return walk.wrong;
    }
    if (walk.is_cut || !runs_on(&walk.insns[walk.count - 1]))
        return NULL;
    walk.count = 0; /* the way back is no branch of the window's */
    uintptr_t back = patch->site + patch->window;
    return take(&walk, (const uint8_t[]){0xe9}, 1, "no way back") && take_displacement(&walk, back, 1) ? NULL : walk.wrong;
}

uintptr_t second_finds_branch(const uint8_t *original, uintptr_t from, uintptr_t to, uintptr_t behind, uintptr_t low,
                              uintptr_t high)
{
    struct insn insn;
    for (uintptr_t at = from; at < to; at += insn.info.length) {
        if (!decode(original + (at - from), to - at, &insn))
            return 0;
        if (at >= behind && is_branch(&insn) && branch_target(&insn, at) >= low && branch_target(&insn, at) < high)
            return at;
    }
    return 0;
}
