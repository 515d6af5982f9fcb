/* SPDX-License-Identifier: MIT
 * A streaming JSON writer: commas, nesting, escaping. Any bytes may be given as a string: what is not UTF-8
 * becomes U+FFFD, so that every parser reads the result. Numbers that are none (NaN, infinity) become null.
 */
#ifndef WTM_REPORT_JSON_WRITER_H
#define WTM_REPORT_JSON_WRITER_H

#include "common/text.h"

struct wtm_json {
    struct wtm_text *text;
    unsigned depth;
    int first; /* 1: no comma before the next value */
};

void wtm_json_begin(struct wtm_json *json, struct wtm_text *text);
/* `name`: of a member of an object; NULL in an array. */
void wtm_json_object(struct wtm_json *json, const char *name);
void wtm_json_object_end(struct wtm_json *json);
void wtm_json_array(struct wtm_json *json, const char *name);
void wtm_json_array_end(struct wtm_json *json);
void wtm_json_string(struct wtm_json *json, const char *name, const char *value); /* NULL: null */
void wtm_json_line(struct wtm_json *json, const char *name, const char *value, size_t bytes);
void wtm_json_hex(struct wtm_json *json, const char *name,
                  uint64_t value); /* "0x1234": exact in every reader */
void wtm_json_unsigned(struct wtm_json *json, const char *name, uint64_t value);
void wtm_json_decimal(struct wtm_json *json, const char *name, double value); /* to a thousandth */
void wtm_json_boolean(struct wtm_json *json, const char *name, int value);
void wtm_json_null(struct wtm_json *json, const char *name);

#endif
