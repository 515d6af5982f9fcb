/* SPDX-License-Identifier: MIT
 * Which branches of a module may lead into given bytes. The scan looks at every byte offset of the text, so nothing that
 * is encoded there escapes it, whatever the instruction borders; it also finds what is not a branch at all. Who asks
 * tells them apart by confirming (flow.h). */
#ifndef WTM_PATCHER_SCAN_H
#define WTM_PATCHER_SCAN_H

#include "patcher/memory.h"
#include "patcher/patcher.h"

enum wtm_hit_kind {
    WTM_HIT_CALL,    /* call rel32 */
    WTM_HIT_JUMP,    /* jmp or jcc rel32, xbegin */
    WTM_HIT_SHORT,   /* jmp, jcc, loop, jrcxz rel8 */
    WTM_HIT_ADDRESS  /* lea of the address */
};

struct wtm_hit {
    uintptr_t target;
    uintptr_t displacement; /* where the displacement lies: the last bytes of the instruction */
    uintptr_t end;          /* of the instruction */
    uint8_t kind;
    uint8_t verdict;        /* enum wtm_verdict, see flow.h; 0: not asked yet */
};

/* [start, inside) are entries: calls of them and their address are of no interest. [inside, end): everything is. */
struct wtm_scan_range {
    uintptr_t start, inside, end;
};

struct wtm_scan {
    struct wtm_vector hits; /* struct wtm_hit, by target, then by place; a hit may be there twice */
};

/* `ranges` by start; they may overlap. 0 or -ENOMEM. */
int wtm_scan_module(const struct wtm_code_module *module, const struct wtm_scan_range *ranges, size_t count,
                    struct wtm_scan *scan);
/* One more, whose verdict is known. 0 or -ENOMEM. */
int wtm_scan_add(struct wtm_scan *scan, const struct wtm_hit *hit);
void wtm_scan_sort(struct wtm_scan *scan);
void wtm_scan_give(struct wtm_scan *scan);

/* First hit whose target is at or above `target`; hits up to items + count follow in order. */
struct wtm_hit *wtm_scan_from(const struct wtm_scan *scan, uintptr_t target);
static inline struct wtm_hit *wtm_scan_end(const struct wtm_scan *scan)
{
    struct wtm_hit *hits = scan->hits.items;
    return hits ? hits + scan->hits.count : NULL; /* nothing may be added to NULL, not even nothing */
}

#endif
