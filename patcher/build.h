/* SPDX-License-Identifier: MIT
 * Turns a plan into a patch: stub and body in near memory, and the bytes to write. */
#ifndef WTM_PATCHER_BUILD_H
#define WTM_PATCHER_BUILD_H

#include "patcher/plan.h"

/* Fills request->patch and adds it to `batch` and to the planner's claims. Nothing of the module changes. */
enum wtm_refusal wtm_build(struct wtm_planner *planner, struct wtm_batch *batch, const struct wtm_plan *plan,
                           struct wtm_patch_request *request, size_t expected);

#endif
