/* SPDX-License-Identifier: MIT
 * Globs. One place to come back to is enough: once a later star was reached, what an earlier one took is
 * settled, so there is no recursion and no exponential time. */
#include "common/glob.h"
#include <string.h>

/* The end of a bracket expression at `pattern` ('['), or NULL when it is not closed and so stands for itself.
 */
static const char *bracket_end(const char *pattern)
{
    const char *at = pattern + 1;
    if (*at == '!' || *at == '^')
        at++;
    if (*at == ']')
        at++;
    while (*at && *at != ']')
        at++;
    return *at ? at : NULL;
}

static int in_bracket(const char *pattern, const char *end, unsigned char c)
{
    const char *at = pattern + 1;
    int negated = *at == '!' || *at == '^', found = 0;
    for (at += negated; at < end; at++) {
        unsigned char low = (unsigned char)*at, high = low;
        if (at + 2 < end && at[1] == '-') {
            high = (unsigned char)at[2];
            at += 2;
        }
        found |= low <= c && c <= high;
    }
    return found != negated;
}

/* One element of the pattern (no star) against one character; the element's end, or NULL. */
static const char *step(const char *pattern, unsigned char c)
{
    const char *end;
    switch (*pattern) {
    case 0:
        return NULL;
    case '?':
        return pattern + 1;
    case '[':
        end = bracket_end(pattern);
        if (end)
            return in_bracket(pattern, end, c) ? end + 1 : NULL;
        break;
    case '\\':
        if (pattern[1])
            pattern++;
        break;
    }
    return (unsigned char)*pattern == c ? pattern + 1 : NULL;
}

int wtm_glob_match(const char *pattern, const char *text, size_t text_length)
{
    const char *end = text + text_length, *star = NULL, *star_text = NULL;
    while (text < end) {
        if (*pattern == '*') {
            star = ++pattern;
            star_text = text;
            continue;
        }
        const char *next = step(pattern, (unsigned char)*text);
        if (next) {
            pattern = next;
            text++;
        } else if (star) {
            pattern = star;
            text = ++star_text;
        } else {
            return 0;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

int wtm_glob_is_glob(const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*' || *pattern == '?' || *pattern == '\\' ||
            (*pattern == '[' && bracket_end(pattern)))
            return 1;
    }
    return 0;
}
