/* SPDX-License-Identifier: MIT
 * Runs the ELF reader over arbitrary bytes, as a file and as if the loader had mapped them. */
#ifndef WTM_TESTS_FUZZ_ELF_H
#define WTM_TESTS_FUZZ_ELF_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of symbols seen, so that a driver can tell that anything happened at all. */
size_t wtm_fuzz_elf(const uint8_t *data, size_t size);

#endif
