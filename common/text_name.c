/* SPDX-License-Identifier: MIT
 * Names on a terminal. They come from symbol tables and profiles, so they may hold anything: an escape
 * sequence must not reach the terminal, and a cell must take the columns that it was given. */
#include "common/text.h"
#include <string.h>

static int continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

unsigned wtm_utf8_sequence(const char *string, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)string;
    *code = s[0];
    if (s[0] < 0x80)
        return s[0] != 0;
    if (s[0] >= 0xc2 && s[0] <= 0xdf && continues(s[1])) {
        *code = (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
        return 2;
    }
    if ((s[0] & 0xf0) == 0xe0 && continues(s[1]) && continues(s[2])) {
        *code = (uint32_t)(s[0] & 0xf) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
        return *code >= 0x800 && (*code < 0xd800 || *code > 0xdfff) ? 3
                                                                    : 0; /* no overlong form, no surrogate */
    }
    if (s[0] >= 0xf0 && s[0] <= 0xf4 && continues(s[1]) && continues(s[2]) && continues(s[3])) {
        *code = (uint32_t)(s[0] & 7) << 18 | (uint32_t)(s[1] & 0x3f) << 12 | (uint32_t)(s[2] & 0x3f) << 6 |
                (s[3] & 0x3f);
        return *code >= 0x10000 && *code <= 0x10ffff ? 4 : 0;
    }
    return 0;
}

/* Not to be sent to a terminal: controls (C0, DEL, C1), invisible characters and marks of direction. */
static int is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

/* Columns of a code point: coarse ranges of the combining and of the wide (East Asian, emoji) ones. */
static unsigned code_columns(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (code < 0x370 || (code >= 0x1ab0 && code < 0x1b00) || (code >= 0x20d0 && code < 0x2100) ||
        (code >= 0xfe00 && code < 0xfe10) || (code >= 0xfe20 && code < 0xfe30))
        return 0;
    if ((code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
        (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
        (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
        (code >= 0xffe0 && code < 0xffe7) || (code >= 0x1f300 && code < 0x1f650) ||
        (code >= 0x1f900 && code < 0x1fa00) || (code >= 0x20000 && code < 0x40000))
        return 2;
    return 1;
}

/* The next character as it is shown: bytes consumed (0 at the end) and columns taken; `plain` 0: as \xNN
 * each. */
static unsigned next_shown(const char *string, unsigned *columns, int *plain)
{
    uint32_t code;
    if (!*string)
        return 0;
    unsigned bytes = wtm_utf8_sequence(string, &code);
    *plain = bytes && !is_harmful(code);
    if (!bytes)
        bytes = 1;
    *columns = *plain ? code_columns(code) : 4 * bytes;
    return bytes;
}

static void put_shown(struct wtm_text *text, const char *string, unsigned bytes, int plain)
{
    if (plain) {
        wtm_text_bytes(text, string, bytes);
        return;
    }
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)string[i];
        char escape[4] = {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
        wtm_text_bytes(text, escape, sizeof escape);
    }
}

void wtm_text_name(struct wtm_text *text, const char *string)
{
    unsigned columns, bytes;
    int plain;
    for (; (bytes = next_shown(string, &columns, &plain)); string += bytes)
        put_shown(text, string, bytes, plain);
}

size_t wtm_text_name_columns(const char *string)
{
    size_t total = 0;
    unsigned columns, bytes;
    int plain;
    for (; (bytes = next_shown(string, &columns, &plain)); string += bytes)
        total += columns;
    return total;
}

void wtm_text_name_cut(struct wtm_text *text, const char *string, size_t columns)
{
    size_t total = wtm_text_name_columns(string);
    if (total <= columns) {
        wtm_text_name(text, string);
        return;
    }
    if (columns < 5)
        columns = 5;
    size_t head = (columns - 3 + 1) / 2, tail = columns - 3 - head, at = 0;
    int cut = 0;
    unsigned taken, bytes;
    int plain;
    for (; (bytes = next_shown(string, &taken, &plain)); string += bytes, at += taken) {
        if (!cut && at + taken <= head) {
            put_shown(text, string, bytes, plain);
            continue;
        }
        if (!cut)
            wtm_text_string(text, "...");
        cut = 1;
        if (at >= total - tail)
            put_shown(text, string, bytes, plain);
    }
}
