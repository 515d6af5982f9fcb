/* SPDX-License-Identifier: MIT
 * The patcher over arbitrary bytes. What does not hold ends the program, with a line on stderr. */
#ifndef WTM_TESTS_FUZZ_PATCHER_H
#define WTM_TESTS_FUZZ_PATCHER_H

#include <stddef.h>
#include <stdint.h>

enum { WTM_FUZZ_METHODS = 5, WTM_FUZZ_REFUSALS = 64 };

/* What became of the functions asked for, by enum wtm_patch_method and enum wtm_refusal. */
struct wtm_fuzz_counts {
    unsigned methods[WTM_FUZZ_METHODS], refusals[WTM_FUZZ_REFUSALS];
};

/* Gives the number of functions that were patched; adds to `counts` unless it is NULL. */
int wtm_fuzz_patcher(const uint8_t *data, size_t size, struct wtm_fuzz_counts *counts);

#endif
