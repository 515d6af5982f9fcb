/* SPDX-License-Identifier: MIT
 * Memory for code and its data within reach (2 GiB) of a whole module. Code pages are rw while they are filled, then r-x
 * for good; data pages stay rw; none is ever both writable and executable. One thread at a time. */
#ifndef WTM_PATCHER_NEAR_H
#define WTM_PATCHER_NEAR_H

#include <stddef.h>
#include <stdint.h>
#include "patcher/patcher.h"

struct wtm_near_block;

struct wtm_near_piece {
    uint8_t *code;
    uint8_t *data;
    struct wtm_near_block *block;
};

/* Takes `code_bytes` (aligned to 16) and `data_bytes` (aligned to 8) that rel32 operands reach from everywhere in `span`
 * and the other way round. `expected_bytes`: how much code the caller will take in all before it seals. 0, -ENOMEM when
 * no free place is within reach. */
int wtm_near_take(const struct wtm_code_range *span, size_t code_bytes, size_t data_bytes, size_t expected_bytes,
                  struct wtm_near_piece *piece);

/* Makes what was taken since the last seal r-x. Negative errno when the kernel forbids it: then none of it may be used. */
int wtm_near_seal(void);

/* One piece of the block fewer is in use; a block without any is used anew. */
void wtm_near_release(struct wtm_near_block *block);

/* Is it code of ours? */
int wtm_near_owns(uintptr_t address);

#endif
