/* SPDX-License-Identifier: MIT
 * Small pieces of the table: a cell, a duration in a sentence, a wrapped paragraph. */
#include "common/table_parts.h"
#include <string.h>

unsigned wtm_table_render(char cell[WTM_TABLE_CELL], const struct wtm_table_column *column,
                          const struct wtm_summary *summary, const struct wtm_row *row)
{
    struct wtm_text text;
    wtm_text_init(&text, cell, WTM_TABLE_CELL - 1, NULL, NULL);
    column->cell(&text, summary, row);
    cell[text.used] = 0;
    return (unsigned)wtm_text_name_columns(cell);
}

void wtm_table_duration(struct wtm_text *text, double ns, double step_ns)
{
    char buffer[32];
    struct wtm_text small;
    wtm_text_init(&small, buffer, sizeof buffer - 1, NULL, NULL);
    wtm_text_duration(&small, ns, step_ns);
    size_t unit = small.used;
    while (unit && buffer[unit - 1] >= 'a' && buffer[unit - 1] <= 'z')
        unit--;
    wtm_text_bytes(text, buffer, unit);
    if (memchr("num", buffer[unit], 3) || (buffer[unit] == 's' && !memchr(buffer, 'm', unit)))
        wtm_text_char(text, ' ', 1); /* 7.1 ms, but 2h13m */
    wtm_text_bytes(text, buffer + unit, small.used - unit);
}

/* A word that no line can hold is broken where the line ends. */
static unsigned put_word(struct wtm_text *text, const char *word, size_t bytes, unsigned at, unsigned indent,
                         unsigned width)
{
    while (bytes) {
        uint32_t code;
        char one[5] = {0};
        unsigned length = wtm_utf8_sequence(word, &code);
        length = length && length <= bytes ? length : 1;
        memcpy(one, word, length);
        unsigned columns = (unsigned)wtm_text_name_columns(one);
        if (at + columns > width) {
            wtm_text_char(text, '\n', 1);
            wtm_text_char(text, ' ', indent);
            at = indent;
        }
        wtm_text_bytes(text, word, length);
        at += columns;
        word += length;
        bytes -= length;
    }
    return at;
}

static unsigned columns_of(const char *word, size_t bytes)
{
    unsigned columns = 0;
    for (size_t i = 0; i < bytes;) {
        uint32_t code;
        char one[5] = {0};
        unsigned length = wtm_utf8_sequence(word + i, &code);
        length = length && length <= bytes - i ? length : 1;
        memcpy(one, word + i, length);
        columns += (unsigned)wtm_text_name_columns(one);
        i += length;
    }
    return columns;
}

void wtm_table_paragraph(struct wtm_text *text, const char *string, unsigned at, unsigned indent,
                         unsigned width)
{
    int first = 1;
    while (*string) {
        size_t bytes = 0;
        while (string[bytes] && string[bytes] != ' ')
            bytes++;
        unsigned columns = columns_of(string, bytes);
        if (!first && at + 1 + columns > width) {
            wtm_text_char(text, '\n', 1);
            wtm_text_char(text, ' ', indent);
            at = indent;
        } else if (!first) {
            wtm_text_char(text, ' ', 1);
            at++;
        }
        at = put_word(text, string, bytes, at, indent, width);
        first = 0;
        string += bytes;
        while (*string == ' ')
            string++;
    }
    wtm_text_char(text, '\n', 1);
}
