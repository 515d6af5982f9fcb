/* SPDX-License-Identifier: MIT
 * Stub, gate and body of one patch, built in near memory. */
#ifndef WTM_PATCHER_SLOTS_H
#define WTM_PATCHER_SLOTS_H

#include "patcher/near.h"
#include "patcher/patcher.h"
#include "patcher/relocate.h"

struct wtm_slot {
    uintptr_t stub, armed, body;
    uintptr_t *gate;
    struct wtm_near_block *block;
};

/* Builds it for `move`, gate closed. `expected`: how many more the caller has in mind. */
enum wtm_refusal wtm_slot_build(const struct wtm_code_range *span, const struct wtm_move *move, uintptr_t hook,
                                const void *context, size_t expected, struct wtm_slot *slot);

#endif
