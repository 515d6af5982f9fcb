/* SPDX-License-Identifier: MIT
 * From targets in one object to patched entries, told in the profile. One thread at a time, as install.h says. */
#ifndef WTM_PRELOAD_PATCHING_H
#define WTM_PRELOAD_PATCHING_H

#include "common/resolve.h"
#include "preload/company.h"

/* All that is to be patched in one object: one scan of its text, one commit. `watch`: what the library itself must hear of there
 * as well. Gives the number of functions timed. */
int wtm_patching_object(const struct wtm_object *object, const struct wtm_target *const *targets, size_t count, int watch,
                        enum wtm_company company, struct wtm_arena *arena) WTM_HIDDEN;

#endif
