/* SPDX-License-Identifier: MIT
 * Builds the relocated copy of a window's instructions: same registers, flags and stack as in their place, the same
 * pushed return addresses, and the way back to what stands behind the window. */
#ifndef WTM_PATCHER_RELOCATE_H
#define WTM_PATCHER_RELOCATE_H

#include "common/status.h"
#include "patcher/decode.h"
#include "patcher/patcher.h"

enum { WTM_MOST_MOVED = WTM_MAX_WINDOW, WTM_LONGEST_MOVE = 32 };

/* A window that was decoded. */
struct wtm_move {
    struct wtm_insn insns[WTM_MOST_MOVED];
    unsigned count;
    uintptr_t entry, site;  /* branches to either go to the copy's beginning; calls of them do not */
    unsigned window;        /* bytes of the instructions, and of padding behind them */
    unsigned changed;       /* bytes at site that will not be what they were */
    int returns_here;       /* control can run past the last instruction */
};

/* Bytes that the copy takes, the jump back included; 0 when it cannot be moved, with the reason in `refusal`. */
size_t wtm_relocate_size(const struct wtm_move *move, enum wtm_refusal *refusal);

/* Where the copy of an instruction begins, from the copy's beginning on. */
size_t wtm_relocate_offset(const struct wtm_move *move, unsigned insn);

/* Writes it at `to`, where it will run. `capacity` is wtm_relocate_size(). */
enum wtm_refusal wtm_relocate(const struct wtm_move *move, uint8_t *to, size_t capacity);

#endif
