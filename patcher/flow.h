/* SPDX-License-Identifier: MIT
 * Questions about code that only decoding from a known start can answer. */
#ifndef WTM_PATCHER_FLOW_H
#define WTM_PATCHER_FLOW_H

#include "common/status.h"
#include "patcher/decode.h"
#include "patcher/patcher.h"
#include "patcher/scan.h"

enum wtm_verdict {
    WTM_VERDICT_OPEN = 0,
    WTM_VERDICT_BRANCH,   /* decoding from its function's start meets exactly this instruction */
    WTM_VERDICT_NONE,     /* decoding steps over it: part of another instruction */
    WTM_VERDICT_UNPROVEN  /* decoding does not get there: must be taken for a branch */
};

/* Judges a hit, and notes the verdict in it. Text that is patched already is read as it was. */
enum wtm_verdict wtm_flow_confirm(const struct wtm_code_module *module, struct wtm_hit *hit);

/* Adds what the committed patches of the module displaced: branches that its text does not show any more. 0 or -ENOMEM. */
int wtm_flow_add_displaced(const struct wtm_code_module *module, struct wtm_scan *scan);

/* 1: `address` is the start of an instruction by decoding from a start known below it, or nothing is known. 0: not. */
int wtm_flow_is_start(const struct wtm_code_module *module, uintptr_t address);

/* Where the padding begins that ends at `boundary` (a start, or the text's end): nops, int3, zeros that control does not
 * run into from above. `boundary` itself when there is none. Whether something jumps there is for the scan to say. */
uintptr_t wtm_flow_padding(const struct wtm_code_module *module, uintptr_t boundary);

/* Reads or pops of the return address in code that is not patched yet: WTM_REFUSED_NONE, _READS_RETURN, _POPS_RETURN. */
enum wtm_refusal wtm_flow_return_slot(uintptr_t start, uintptr_t end);

/* Jump tables that the function [start, end) uses lead to one of `targets` (starts of instructions in it). */
int wtm_flow_table_leads(const struct wtm_code_module *module, uintptr_t start, uintptr_t end,
                         const uintptr_t *targets, size_t count);

#endif
