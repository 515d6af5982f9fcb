/* SPDX-License-Identifier: MIT
 * A bounded text builder that hands full buffers to a sink: what takes the place of stdio in code that also runs inside
 * a target. No malloc, no locale, no errno. One thread at a time; signal-safe when the sink is. */
#ifndef WTM_COMMON_TEXT_H
#define WTM_COMMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Takes `bytes` of text; 0 or negative errno. */
typedef int wtm_text_sink(void *context, const char *text, size_t bytes);

struct wtm_text {
    char *buffer;
    size_t capacity, used;
    wtm_text_sink *sink; /* NULL: text beyond the buffer is cut and `error` becomes -ENOSPC */
    void *context;
    int error; /* first error of the sink; later calls do nothing */
};

void wtm_text_init(struct wtm_text *text, char *buffer, size_t capacity, wtm_text_sink *sink, void *context);
void wtm_text_bytes(struct wtm_text *text, const char *bytes, size_t count);
void wtm_text_string(struct wtm_text *text, const char *string);
/* Escaped for a terminal: control characters, marks that reverse the direction of writing and invalid UTF-8 become
 * \xNN, byte by byte. */
void wtm_text_name(struct wtm_text *text, const char *string);
/* The same in at most `columns` columns (at least 5): what is longer loses its middle, where "..." stands then. */
void wtm_text_name_cut(struct wtm_text *text, const char *string, size_t columns);
/* Columns that wtm_text_name() takes on a terminal. */
size_t wtm_text_name_columns(const char *string);
void wtm_text_char(struct wtm_text *text, char c, unsigned count);
void wtm_text_unsigned(struct wtm_text *text, uint64_t value);
void wtm_text_signed(struct wtm_text *text, int64_t value);
void wtm_text_hex(struct wtm_text *text, uint64_t value);            /* 0x... */
void wtm_text_decimal(struct wtm_text *text, double value, unsigned digits); /* fixed point, any size of value */
int wtm_text_flush(struct wtm_text *text);                           /* gives `error` */

/* Length in bytes of the well-formed UTF-8 sequence at `string` and its code point; 0 when it is malformed or the end. */
unsigned wtm_utf8_sequence(const char *string, uint32_t *code);

/* 1,507 - thousands separated. */
void wtm_text_grouped(struct wtm_text *text, uint64_t value);
/* Three digits and a unit: 812ms, 1.31ms, 52ns, 2h13m. Digits of which a step of `step_ns` would span more than two
 * are only noise and not shown: 5.1ms with a step of 29us. */
void wtm_text_duration(struct wtm_text *text, double ns, double step_ns);

#endif
