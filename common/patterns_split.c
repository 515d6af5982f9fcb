/* SPDX-License-Identifier: MIT
 * Splits lists of patterns. */
#include "common/patterns_split.h"
#include <string.h>

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A path begins with a slash like a regular expression does: it is one when a second slash, and nothing that
 * only a regular expression has, comes before the colon. */
size_t wtm_split_module(const char *pattern, size_t length)
{
    int slashes = 0;
    for (size_t i = 0; i < length; i++) {
        char c = pattern[i];
        if (c == ':') {
            if (!i || (i + 1 < length && pattern[i + 1] == ':') || (*pattern == '/' && slashes < 2))
                return 0;
            return i;
        }
        slashes += c == '/';
        if (c == ',' || c == '(' || c == '<' || c == '=' || (*pattern == '/' && strchr("()|^$\\{", c)))
            return 0;
    }
    return 0;
}

/* The end of a /regex/ at `text`: behind the first slash that is not escaped and has the list's end, a comma
 * or space behind it. 0: it is not closed. */
static size_t regex_length(const char *text)
{
    for (size_t i = 1; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1]) {
            i++;
            continue;
        }
        size_t after = i + 1;
        while (text[i] == '/' && is_space(text[after]))
            after++;
        if (text[i] == '/' && (!text[after] || text[after] == ','))
            return i + 1;
    }
    return 0;
}

/* `operator<`, `operator->`, `operator,` and so on: their signs are no brackets. */
static size_t skip_operator(const char *text, size_t i)
{
    if (strncmp(text + i, "operator", 8))
        return i;
    i += 8;
    if (text[i] == ',' && (text[i + 1] == '(' || text[i + 1] == ','))
        return i + 1;
    while (text[i] && strchr("<>=-", text[i]))
        i++;
    return i;
}

/* Up to the comma outside brackets; up to any comma when `nested` is 0. Tells in `open` whether one stayed
 * open. */
static size_t plain_length(const char *text, int nested, int *open)
{
    size_t round = 0, angle = 0, i = 0;
    while (text[i]) {
        size_t skipped = skip_operator(text, i);
        if (skipped != i) {
            i = skipped;
            continue;
        }
        char c = text[i];
        if (c == ',' && (!nested || (!round && !angle)))
            break;
        round += c == '(';
        round -= c == ')' && round;
        angle += c == '<';
        angle -= c == '>' && angle && !(i && text[i - 1] == '-');
        i++;
    }
    *open = round || angle;
    return i;
}

void wtm_split_next(const char *list, size_t *begin, size_t *length, size_t *next)
{
    size_t at = 0, end = 0;
    int open;
    while (is_space(list[at]))
        at++;
    const char *text = list + at, *body = text + (*text == '!');
    while (is_space(*body))
        body++;
    size_t first_comma = plain_length(body, 0, &open);
    size_t module = wtm_split_module(body, first_comma);
    const char *expression = body + (module ? module + 1 : 0);
    size_t regex = *expression == '/' ? regex_length(expression) : 0;
    if (regex) {
        end = (size_t)(expression - text) + regex;
        while (is_space(text[end]))
            end++;
    } else {
        end = plain_length(text, 1, &open);
        if (open)
            end = plain_length(text, 0, &open); /* a bracket that never closes must not swallow the rest */
    }
    *begin = at;
    *next = at + end + (text[end] == ',');
    while (end && is_space(text[end - 1]))
        end--;
    *length = end;
}
