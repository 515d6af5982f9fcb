/* SPDX-License-Identifier: MIT
 * /proc/self/maps, read by raw system calls. */
#ifndef WTM_PATCHER_MAPS_H
#define WTM_PATCHER_MAPS_H

#include <stdint.h>
#include "patcher/memory.h"

struct wtm_mapping {
    uintptr_t start, end;
    uint8_t protection; /* PROT_* */
    uint8_t shared;     /* writes would reach the file */
    uint8_t is_stack;   /* the first thread's, which grows down */
};

/* Appends all mappings in address order (struct wtm_mapping). 0, or a negative errno (then some may be there). */
int wtm_maps_read(struct wtm_vector *mappings);

#endif
