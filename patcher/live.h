/* SPDX-License-Identifier: MIT
 * Changing code that other threads may be running. */
#ifndef WTM_PATCHER_LIVE_H
#define WTM_PATCHER_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include "patcher/registry.h"

/* One change of an entry. */
struct wtm_live_write {
    uintptr_t at;
    const uint8_t *bytes;     /* what shall stand there */
    size_t count;
    uintptr_t resume;         /* where a thread that comes here meanwhile goes on */
    uint8_t first;            /* the first byte that stood there */
    uint8_t one_instruction;  /* what stands there is one instruction: nobody can stand inside */
    const struct wtm_inner *inner; /* prepared for code that runs: the int3s among `bytes`. NULL: not prepared so */
    unsigned inner_count;
    uint8_t busy;             /* out: a thread stands inside, or it cannot be done safely: nothing changed */
};

/* Writes all that can be written; see `busy`. The pages are open. 0 or a negative errno (then all are busy). */
int wtm_live_write(struct wtm_live_write *writes, size_t count);

/* A trap at `at` is not ours any more. */
void wtm_live_forget(uintptr_t at);

#endif
