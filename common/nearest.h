/* SPDX-License-Identifier: MIT
 * "Did you mean": keeps the three names nearest to a misspelt one. No memory but its own, about 2 KiB of
 * stack. */
#ifndef WTM_COMMON_NEAREST_H
#define WTM_COMMON_NEAREST_H

#include <stddef.h>

enum { WTM_NEAREST_KEPT = 3, WTM_NEAREST_MAX_LENGTH = 120 };

struct wtm_near_name {
    const char *name;
    unsigned distance, exact_distance, common_prefix, length;
};
struct wtm_nearest {
    const char *wanted;
    unsigned length, limit; /* names farther than this are not near */
    struct wtm_near_name names[WTM_NEAREST_KEPT];
    unsigned count;
};

void wtm_nearest_begin(struct wtm_nearest *nearest, const char *wanted);
/* Offers a name, which must stay where it is. `text` of `length` bytes is what is compared, `name` what is
 * kept. */
void wtm_nearest_offer(struct wtm_nearest *nearest, const char *name, const char *text, size_t length);
/* Edits (insert, delete, change, swap of neighbours; optimal string alignment) from a to b; `limit` + 1 where
 * it is more than the limit. Lengths up to WTM_NEAREST_MAX_LENGTH. `fold`: letters' case does not count. */
unsigned wtm_edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned limit,
                           int fold);

#endif
