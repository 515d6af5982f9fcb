/* SPDX-License-Identifier: MIT
 * Follows all ways through a function and knows at each instruction which registers hold addresses in the stack, and by how much
 * they differ from rsp at the entry. The first way that comes to an instruction decides what they hold there: compilers keep
 * one frame for all. What lies behind a call may belong to another way, since a callee may not return: it is looked at when
 * all that is certain has been seen. */
#include "patcher/return_late.h"
#include "patcher/decode.h"
#include "patcher/memory.h"
#include "patcher/return_slot.h"
#include <string.h>

enum { SLOT_BYTES = 8, LARGEST_BYTES = 1 << 20, MOST_INSTRUCTIONS = 1 << 17, FAR_BYTES = 64, RSP = 4, RBP = 5 };
/* rax rcx rdx rsi rdi r8-r11: a callee may write them */
enum { CALLEE_WRITES = 0x0fc7 };

struct state {
    int32_t value[16]; /* less rsp at the entry */
    uint32_t known;    /* bit by register */
};

struct way {
    uintptr_t at;
    struct state state;
};

struct walk {
    uintptr_t start, end;
    uint8_t *seen;             /* a bit for each byte: an instruction begins there and was looked at */
    struct wtm_vector *certain, *behind_calls, *behind_ends;
    size_t behind_calls_done;  /* first in, first out */
    struct state at_table;     /* where a jump through a table leads */
    int has_table, failed;
    unsigned instructions;
};

/* Kept from one function to the next: most would need but a page. */
static struct wtm_vector kept[3] = {{.item_bytes = sizeof(struct way)}, {.item_bytes = sizeof(struct way)}, {.item_bytes = sizeof(struct way)}};
static uint8_t *kept_bits;
static size_t kept_bytes;

static uint8_t *take_bits(size_t bytes)
{
    if (bytes > kept_bytes) {
        wtm_pages_give(kept_bits, kept_bytes);
        kept_bytes = wtm_page_up(bytes);
        kept_bits = wtm_pages_take(kept_bytes);
        kept_bytes = kept_bits ? kept_bytes : 0;
    } else {
        memset(kept_bits, 0, bytes);
    }
    return kept_bits;
}

void wtm_return_late_done(void)
{
    for (unsigned i = 0; i < 3; i++)
        wtm_vector_give(&kept[i]);
    wtm_pages_give(kept_bits, kept_bytes);
    kept_bits = NULL;
    kept_bytes = 0;
}

static void add(struct walk *walk, struct wtm_vector *ways, uintptr_t at, const struct state *state)
{
    if (at < walk->start || at >= walk->end)
        return;
    struct way *way = wtm_vector_push(ways);
    if (way)
        *way = (struct way){at, *state};
    else
        walk->failed = 1;
}

static int mark(struct walk *walk, uintptr_t at)
{
    size_t bit = at - walk->start;
    int seen = walk->seen[bit / 8] >> bit % 8 & 1;
    walk->seen[bit / 8] |= (uint8_t)(1u << bit % 8);
    return seen;
}

/* push -8(%r10): the prologue of a function that aligns its stack puts a copy of its return address where debuggers and
 * unwinders look for it, and nobody else does. */
static int copies_for_unwinders(const struct wtm_insn *insn, const struct wtm_effects *effects)
{
    enum { GROUP5 = 0xff, PUSH = 6 };
    return insn->bytes[insn->opcode_at] == GROUP5 && (insn->bytes[insn->opcode_at + 1] >> 3 & 7) == PUSH &&
           effects->memory_register != RSP && effects->memory_register != RBP;
}

static int touches(const struct state *state, const struct wtm_insn *insn, const struct wtm_effects *effects)
{
    if (!effects->memory_used || !(state->known >> effects->memory_register & 1) || wtm_return_is_fence(insn) ||
        copies_for_unwinders(insn, effects))
        return 0;
    int64_t offset = state->value[effects->memory_register] + effects->memory_offset;
    return offset < SLOT_BYTES && offset + effects->memory_used > 0;
}

static void apply(struct state *state, const struct wtm_insn *insn, const struct wtm_effects *effects)
{
    struct state before = *state;
    if (insn->kind == WTM_INSN_CALL || insn->kind == WTM_INSN_CALL_INDIRECT)
        state->known &= ~(uint32_t)CALLEE_WRITES;
    state->known &= ~(effects->written & ~(1u << RSP));
    if (insn->frame != WTM_FRAME_SAME)
        state->known &= ~(1u << RBP);
    if (insn->stack == WTM_STACK_ADD) {
        state->value[RSP] += insn->stack_delta;
    } else if (insn->stack == WTM_STACK_FROM_FRAME) {
        state->value[RSP] = before.value[RBP] + insn->stack_delta;
        state->known = (state->known & ~(1u << RSP)) | (before.known >> RBP & 1) << RSP;
    } else if (insn->stack == WTM_STACK_LOST) {
        state->known &= ~(1u << RSP);
    }
    if (!effects->copies || !(before.known >> effects->from & 1))
        return;
    int64_t value = before.value[effects->from] + effects->delta;
    /* frame pointers; not addresses of local variables, which nobody takes for more than they are */
    if (effects->to == RBP || (value >= -FAR_BYTES && value <= SLOT_BYTES)) {
        state->value[effects->to] = (int32_t)value;
        state->known |= 1u << effects->to;
    }
}

/* What follows the instruction: pushes ways. Gives 1 when the way at hand goes on right behind it. */
static int follow(struct walk *walk, const struct wtm_insn *insn, struct state *state)
{
    uintptr_t next = insn->address + insn->length;
    int inside = insn->target >= walk->start && insn->target < walk->end;
    switch (insn->kind) {
    case WTM_INSN_CONDITION:
    case WTM_INSN_LOOP:
        add(walk, walk->certain, insn->target, state);
        return 1;
    case WTM_INSN_CALL:
        if (inside && insn->target != walk->start) { /* its own address is on the stack there */
            struct state called = *state;
            called.value[RSP] -= SLOT_BYTES;
            add(walk, walk->certain, insn->target, &called);
            if (insn->target == next)
                return 0;
        }
        /* fall through */
    case WTM_INSN_CALL_INDIRECT:
        add(walk, walk->behind_calls, next, state);
        return 0;
    case WTM_INSN_JUMP:
        add(walk, walk->certain, insn->target, state);
        break;
    case WTM_INSN_JUMP_INDIRECT:
        /* tables are used in the function's frame, tail calls when it is gone: the deeper one is the table */
        if (!walk->has_table || (state->known >> RSP & 1 && state->value[RSP] < walk->at_table.value[RSP]))
            walk->at_table = *state;
        walk->has_table = 1;
        break;
    case WTM_INSN_RETURN:
    case WTM_INSN_TRAP:
        break;
    default:
        return 1;
    }
    add(walk, walk->behind_ends, next, state);
    return 0;
}

static enum wtm_refusal go(struct walk *walk, struct way way)
{
    while (way.at < walk->end && !mark(walk, way.at)) {
        struct wtm_insn insn;
        struct wtm_effects effects;
        if (++walk->instructions > MOST_INSTRUCTIONS ||
            wtm_decode((const uint8_t *)way.at, walk->end - way.at, way.at, &insn) != WTM_DECODE_OK)
            break;
        wtm_decode_effects(&insn, way.state.known & ~(1u << RSP | 1u << RBP), &effects);
        int stack_known = way.state.known >> RSP & 1;
        int64_t stack = way.state.value[RSP];
        if (insn.pops && stack_known && stack >= 0 && stack < SLOT_BYTES)
            return WTM_REFUSED_POPS_RETURN;
        if (touches(&way.state, &insn, &effects))
            return WTM_REFUSED_READS_RETURN;
        apply(&way.state, &insn, &effects);
        if (way.state.known >> RSP & 1 && way.state.value[RSP] > 0)
            return WTM_REFUSED_POPS_RETURN;
        if (!follow(walk, &insn, &way.state))
            break;
        way.at += insn.length;
    }
    return WTM_REFUSED_NONE;
}

static int take_next(struct walk *walk, struct way *way)
{
    struct way *ways = walk->certain->items;
    if (walk->certain->count) {
        *way = ways[--walk->certain->count];
        return 1;
    }
    ways = walk->behind_calls->items;
    if (walk->behind_calls_done < walk->behind_calls->count) {
        *way = ways[walk->behind_calls_done++];
        return 1;
    }
    ways = walk->behind_ends->items; /* cases of a switch */
    if (walk->has_table && walk->behind_ends->count) {
        *way = ways[--walk->behind_ends->count];
        way->state = walk->at_table;
        return 1;
    }
    return 0;
}

enum wtm_refusal wtm_return_late(uintptr_t start, uintptr_t end, const struct wtm_return_frame *frame)
{
    enum wtm_refusal refusal = WTM_REFUSED_NONE;
    if (end <= start || end - start > LARGEST_BYTES || !wtm_return_hint(start, end, frame))
        return refusal;
    struct walk walk = {.start = start, .end = end, .certain = &kept[0], .behind_calls = &kept[1], .behind_ends = &kept[2]};
    kept[0].count = kept[1].count = kept[2].count = 0;
    walk.seen = take_bits((end - start) / 8 + 1);
    struct way way = {start, {.known = 1u << RSP}};
    add(&walk, walk.certain, start, &way.state);
    while (walk.seen && !walk.failed && refusal == WTM_REFUSED_NONE && take_next(&walk, &way))
        refusal = go(&walk, way);
    return refusal;
}
