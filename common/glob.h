/* SPDX-License-Identifier: MIT
 * Shell globs without locale: * ? [abc] [a-z] [!x] and \ before a character that shall stand for itself.
 * No memory, time bounded by length of pattern times length of text. Any thread, signal-safe. */
#ifndef WTM_COMMON_GLOB_H
#define WTM_COMMON_GLOB_H

#include <stddef.h>

/* 1: the whole text matches. */
int wtm_glob_match(const char *pattern, const char *text, size_t text_length);
/* 1: has a character that is not taken literally. */
int wtm_glob_is_glob(const char *pattern);

#endif
