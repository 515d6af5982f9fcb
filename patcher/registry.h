/* SPDX-License-Identifier: MIT
 * All prepared patches of the process, by address: which bytes are spoken for, and what stood there before. One
 * thread at a time. */
#ifndef WTM_PATCHER_REGISTRY_H
#define WTM_PATCHER_REGISTRY_H

#include "patcher/memory.h"
#include "patcher/near.h"
#include "patcher/patcher.h"

/* One change of text beside or at the site. */
struct wtm_edit {
    uintptr_t at;
    uint8_t bytes;
    uint8_t original[8], replacement[8];
};

struct wtm_batch;

/* A place inside the changed bytes where a thread can stand, and where it goes on in the copy. */
struct wtm_inner {
    uintptr_t at, resume;
};
enum { WTM_MOST_INNER = 4 };

/* What a patch's `detail` points to. */
struct wtm_detail {
    struct wtm_batch *batch;
    struct wtm_near_block *block;
    struct wtm_edit *edits;      /* before the site: islands; then re-aimed branches */
    unsigned edit_count, island_count;
    uintptr_t dictated;          /* PUNNED: where the jump leads, else 0 */
    uint8_t one_instruction;     /* the changed bytes lie in one instruction as they were */
    uint8_t running;             /* there is an int3 at each of `inner` once they are changed */
    uint8_t inner_count;
    struct wtm_inner inner[WTM_MOST_INNER];
    uint8_t one_jump;            /* they are one jump once they are changed */
    uintptr_t kept_end;          /* bytes behind the changed ones that must stay as they are (punned), or site + changed */
};

struct wtm_batch_entry {
    uintptr_t site;
    struct wtm_patch *patch; /* NULL once it is forgotten */
};
struct wtm_batch {
    struct wtm_batch *next;
    struct wtm_pool pool;            /* all of this batch's memory, this struct included */
    struct wtm_batch_entry *entries; /* by site */
    size_t count, live;
};

extern struct wtm_batch *wtm_batches;

/* An empty batch with room for `count` patches; NULL when there is no memory. */
struct wtm_batch *wtm_batch_new(size_t count);
/* Sorts it and makes it known; an empty one is given back. */
void wtm_batch_publish(struct wtm_batch *batch);
/* The patch is gone. The batch's memory goes with its last one. */
void wtm_batch_drop(struct wtm_patch *patch);

/* The committed patch whose displaced window begins at or next above `address`; NULL when there is none. */
const struct wtm_patch *wtm_registry_next(uintptr_t address);

/* The text bytes of one module that patches change, or need as they are: a bit each. */
struct wtm_claims {
    uint64_t *bits;
    uintptr_t base;
    size_t span, mapped_bytes;
};

/* Filled from the registry. 0 or -ENOMEM. */
int wtm_claims_open(struct wtm_claims *claims, const struct wtm_code_module *module);
int wtm_claims_has(const struct wtm_claims *claims, uintptr_t low, uintptr_t high);
void wtm_claims_add(struct wtm_claims *claims, uintptr_t low, uintptr_t high);
void wtm_claims_add_patch(struct wtm_claims *claims, const struct wtm_patch *patch);
void wtm_claims_give(struct wtm_claims *claims);

#endif
