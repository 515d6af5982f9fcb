/* SPDX-License-Identifier: MIT
 * The walk over a profile's chunks: the only code that turns offsets of a file into addresses. Everything it
 * hands out lies inside the profile. Beside wtm_profile_check() (summary.h), which must have succeeded.
 * Signal-safe. */
#ifndef WTM_COMMON_PROFILE_CHECK_H
#define WTM_COMMON_PROFILE_CHECK_H

#include "common/summary.h"

struct wtm_walk {
    const unsigned char *base;
    uint64_t at, end;
    uint32_t type;  /* of the chunk just given */
    uint64_t bytes; /* likewise; at least the size of its type's struct */
};

void wtm_walk_begin(struct wtm_walk *walk, const struct wtm_profile *profile);
/* The next complete chunk of a known type, or NULL at the end. Holes (chunks never completed) and unknown
 * types are passed over. */
const struct wtm_chunk *wtm_walk_next(struct wtm_walk *walk);
/* A string of the chunk just given; NULL when there is none or it does not end inside the chunk. */
const char *wtm_walk_string(const struct wtm_walk *walk, const struct wtm_chunk *chunk, uint32_t offset);
/* The chunk of `type` at an offset that another chunk names; NULL when there is none. `smallest`: its
 * struct's size. */
const void *wtm_walk_at(const struct wtm_walk *walk, uint64_t offset, uint32_t type, uint64_t smallest);

#endif
