/* SPDX-License-Identifier: MIT
 * The layout is told in patcher.h. The hook is reached by rel32 where it can be: an indirect jump for each of many
 * functions costs branch predictor entries; else through a word beside the gate. */
#include "patcher/slots.h"
#include "patcher/emit.h"

enum {
    GATE_JUMP_BYTES = 6,                  /* jmp *gate(%rip) */
    ARMED_BYTES = 5 + 10 + 6,             /* save r11, load the context, jump to the hook in its longer form */
    DATA_BYTES = 2 * sizeof(uintptr_t),   /* gate, hook */
    USUAL_SLOT_BYTES = 64
};

static void emit_gate_jump(struct wtm_emit *emit, const uintptr_t *word)
{
    wtm_emit_byte(emit, 0xff);
    wtm_emit_byte(emit, 0x25);
    wtm_emit_relative(emit, (uintptr_t)word, 0);
}

static void emit_armed(struct wtm_emit *emit, uintptr_t hook, uintptr_t *hook_word, const void *context)
{
    static const uint8_t save_r11[5] = {0x4c, 0x89, 0x5c, 0x24, 0xf0}; /* mov %r11,-16(%rsp) */
    wtm_emit_bytes(emit, save_r11, sizeof save_r11);
    wtm_emit_byte(emit, 0x49); /* movabs $context,%r11 */
    wtm_emit_byte(emit, 0xbb);
    wtm_emit_64(emit, (uint64_t)(uintptr_t)context);
    if (wtm_fits32(wtm_distance((uintptr_t)emit->at + WTM_JUMP_BYTES, hook))) {
        wtm_emit_jump(emit, hook);
    } else {
        *hook_word = hook;
        emit_gate_jump(emit, hook_word);
    }
}

enum wtm_refusal wtm_slot_build(const struct wtm_code_range *span, const struct wtm_move *move, uintptr_t hook,
                                const void *context, size_t expected, struct wtm_slot *slot)
{
    enum wtm_refusal refusal;
    struct wtm_near_piece piece;
    size_t body_bytes = wtm_relocate_size(move, &refusal);
    if (refusal != WTM_REFUSED_NONE)
        return refusal;
    if (wtm_near_take(span, GATE_JUMP_BYTES + ARMED_BYTES + body_bytes, DATA_BYTES, expected * USUAL_SLOT_BYTES, &piece))
        return WTM_REFUSED_NO_NEAR_MEMORY;
    uintptr_t *words = (uintptr_t *)piece.data;
    struct wtm_emit emit = {.at = piece.code};
    slot->stub = (uintptr_t)emit.at;
    emit_gate_jump(&emit, &words[0]);
    slot->armed = (uintptr_t)emit.at;
    emit_armed(&emit, hook, &words[1], context);
    slot->body = (uintptr_t)emit.at;
    slot->gate = &words[0];
    slot->block = piece.block;
    *slot->gate = slot->body;
    refusal = wtm_relocate(move, emit.at, body_bytes);
    if (refusal == WTM_REFUSED_NONE && emit.out_of_reach)
        refusal = WTM_REFUSED_NO_NEAR_MEMORY;
    if (refusal != WTM_REFUSED_NONE)
        wtm_near_release(piece.block);
    return refusal;
}
