/* SPDX-License-Identifier: MIT
 * The program that regex_compile.c makes and regex.c runs. */
#ifndef WTM_COMMON_REGEX_INTERNAL_H
#define WTM_COMMON_REGEX_INTERNAL_H

#include "common/regex.h"
#include <stdint.h>

enum wtm_regex_op {
    WTM_REGEX_SET,   /* one byte of `set` */
    WTM_REGEX_SPLIT, /* goes on at `next` and at `other` */
    WTM_REGEX_GO,    /* goes on at `next` */
    WTM_REGEX_BEGIN, /* only at the text's begin */
    WTM_REGEX_END,   /* only at the text's end */
    WTM_REGEX_MATCH,
};

enum { WTM_REGEX_MAX_STATES = 4096 };

struct wtm_regex_state {
    uint16_t op, next, other;
    uint16_t set; /* index in `sets` */
};

struct wtm_regex {
    struct wtm_regex_state *states;
    uint64_t (*sets)[4];
    unsigned state_count, set_count;
    /* Room for a run: two lists of states, their marks, and what is still to be followed. */
    uint16_t *now, *then, *stack;
    uint32_t *mark;
    uint32_t turn;
};

static inline int wtm_regex_set_has(const uint64_t *set, unsigned char c)
{
    return set[c >> 6] >> (c & 63) & 1;
}

#endif
