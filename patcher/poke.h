/* SPDX-License-Identifier: MIT
 * Makes runs of text pages writable, and puts their protection back. */
#ifndef WTM_PATCHER_POKE_H
#define WTM_PATCHER_POKE_H

#include <stddef.h>
#include <stdint.h>
#include "patcher/memory.h"

/* Bytes that are to change. */
struct wtm_span {
    uintptr_t at;
    size_t bytes;
};

struct wtm_text_access {
    struct wtm_vector runs; /* struct wtm_page_run, by address */
};

/* Opens the pages of all `spans` (sorted here), a system call for each run of pages of one kind. `running`: threads may
 * execute them meanwhile, so they must stay executable. 0 or -ENOMEM; pages that could not be opened are told by
 * wtm_text_is_open(). */
int wtm_text_open(struct wtm_text_access *access, struct wtm_span *spans, size_t count, int running);
int wtm_text_is_open(const struct wtm_text_access *access, uintptr_t at, size_t bytes);
/* Protections as they were. */
void wtm_text_close(struct wtm_text_access *access);

/* Writes bytes of open text. Where wtm_text_is_one_store(), by one; returns 1 then, else 0. */
int wtm_text_write(uintptr_t at, const uint8_t *bytes, size_t count);
/* At most eight bytes that lie in one cache line: processors fetch the old or the new ones as a whole, at any offset in the
 * line (Chamith and others: Living on the edge, PLDI 2016; their measurements of Intel's and AMD's). */
int wtm_text_is_one_store(uintptr_t at, size_t count);

#endif
