/* SPDX-License-Identifier: MIT */
#ifndef WTM_PATCHER_RETURN_HINT_H
#define WTM_PATCHER_RETURN_HINT_H

#include <stdint.h>

/* What the first instructions show: rsp is lowered at once by so much (sub), which makes it so much deeper than at the entry. */
struct wtm_return_frame {
    int64_t lowered, depth; /* lowered 0: not seen */
};

/* 0: no instruction in [start, end) looks at the function's return address, as far as compilers go. 1: some bytes look so. */
int wtm_return_hint(uintptr_t start, uintptr_t end, const struct wtm_return_frame *known);

#endif
