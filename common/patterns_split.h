/* SPDX-License-Identifier: MIT
 * Where one pattern of a list ends and what of it is a module. Text only; no memory; any thread. */
#ifndef WTM_COMMON_PATTERNS_SPLIT_H
#define WTM_COMMON_PATTERNS_SPLIT_H

#include <stddef.h>

/* The first pattern of a comma-separated list: begin and length without the spaces around it (length 0: an
 * empty one), and where the rest of the list begins. Commas inside () or <> or a /regex/ do not separate. */
void wtm_split_next(const char *list, size_t *begin, size_t *length, size_t *next);
/* Length of the `module` in module:rest; 0 when there is none (ns::name has none). */
size_t wtm_split_module(const char *pattern, size_t length);

#endif
