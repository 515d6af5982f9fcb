/* SPDX-License-Identifier: MIT
 * Extended regular expressions as POSIX writes them, without back references: . * + ? {m,n} | () [] ^ $ and
 * \ before a character; [:alpha:] and its kind; \d \w \s besides. Bytes, no locale. libc's own need malloc.
 *
 * Simulates all states at once (K. Thompson, "Regular Expression Search Algorithm", CACM 11(6), 1968): time
 * is bounded by states times text, whatever the pattern. Memory from the arena, once. One thread at a time
 * for one expression. */
#ifndef WTM_COMMON_REGEX_H
#define WTM_COMMON_REGEX_H

#include "common/arena.h"

struct wtm_regex;

/* NULL with a reason in words (a constant) when the expression is malformed, too large or memory ran out. */
struct wtm_regex *wtm_regex_compile(const char *pattern, size_t length, struct wtm_arena *arena,
                                    const char **reason);
/* 1: some part of the text matches (as grep does; ^ and $ bind to the ends). */
int wtm_regex_search(struct wtm_regex *regex, const char *text, size_t length);

#endif
