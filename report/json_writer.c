/* SPDX-License-Identifier: MIT
 * JSON, streaming. Objects and arrays start new lines down to the third level: a function a line, so that
 * diff and grep are of use. */
#include "report/json_writer.h"
#include <math.h>
#include <string.h>

enum { LINES_TO_DEPTH = 2 };

void wtm_json_begin(struct wtm_json *json, struct wtm_text *text)
{
    *json = (struct wtm_json){text, 0, 1};
}

static void put_escaped(struct wtm_text *text, const char *value, const char *end)
{
    wtm_text_char(text, '"', 1);
    while (value < end) {
        uint32_t code;
        char one[5] = {0};
        memcpy(one, value, (size_t)(end - value) < 4 ? (size_t)(end - value) : 4);
        unsigned bytes = wtm_utf8_sequence(one, &code);
        unsigned char byte = (unsigned char)*value;
        if (byte == '"' || byte == '\\') {
            wtm_text_char(text, '\\', 1);
            wtm_text_char(text, *value, 1);
        } else if (byte < 0x20 || byte == 0x7f ||
                   (bytes == 2 && code < 0xa0)) { /* C0, DEL, C1: no terminal obeys */
            uint32_t control = bytes ? code : byte;
            char escape[6] = {
                '\\', 'u', '0', '0', "0123456789abcdef"[control >> 4], "0123456789abcdef"[control & 15]};
            wtm_text_bytes(text, escape, sizeof escape);
        } else if (!bytes) {
            wtm_text_string(text, "\\ufffd");
        } else {
            wtm_text_bytes(text, value, bytes);
        }
        value += bytes ? bytes : 1;
    }
    wtm_text_char(text, '"', 1);
}

static void begin_value(struct wtm_json *json, const char *name)
{
    if (!json->first)
        wtm_text_char(json->text, ',', 1);
    if (json->depth && json->depth <= LINES_TO_DEPTH) {
        wtm_text_char(json->text, '\n', 1);
        wtm_text_char(json->text, ' ', json->depth);
    }
    json->first = 0;
    if (name) {
        put_escaped(json->text, name, name + strlen(name));
        wtm_text_char(json->text, ':', 1);
    }
}

static void open_level(struct wtm_json *json, const char *name, char bracket)
{
    begin_value(json, name);
    wtm_text_char(json->text, bracket, 1);
    json->depth++;
    json->first = 1;
}

static void close_level(struct wtm_json *json, char bracket)
{
    json->depth--;
    if (json->depth < LINES_TO_DEPTH && !json->first) {
        wtm_text_char(json->text, '\n', 1);
        wtm_text_char(json->text, ' ', json->depth);
    }
    json->first = 0;
    wtm_text_char(json->text, bracket, 1);
    if (!json->depth)
        wtm_text_char(json->text, '\n', 1);
}

void wtm_json_object(struct wtm_json *json, const char *name)
{
    open_level(json, name, '{');
}

void wtm_json_object_end(struct wtm_json *json)
{
    close_level(json, '}');
}

void wtm_json_array(struct wtm_json *json, const char *name)
{
    open_level(json, name, '[');
}

void wtm_json_array_end(struct wtm_json *json)
{
    close_level(json, ']');
}

void wtm_json_line(struct wtm_json *json, const char *name, const char *value, size_t bytes)
{
    begin_value(json, name);
    put_escaped(json->text, value, value + bytes);
}

void wtm_json_string(struct wtm_json *json, const char *name, const char *value)
{
    if (value)
        wtm_json_line(json, name, value, strlen(value));
    else
        wtm_json_null(json, name);
}

void wtm_json_hex(struct wtm_json *json, const char *name, uint64_t value)
{
    begin_value(json, name);
    wtm_text_char(json->text, '"', 1);
    wtm_text_hex(json->text, value);
    wtm_text_char(json->text, '"', 1);
}

void wtm_json_unsigned(struct wtm_json *json, const char *name, uint64_t value)
{
    begin_value(json, name);
    wtm_text_unsigned(json->text, value);
}

void wtm_json_decimal(struct wtm_json *json, const char *name, double value)
{
    char buffer[400];
    struct wtm_text number;
    if (!isfinite(value)) {
        wtm_json_null(json, name);
        return;
    }
    wtm_text_init(&number, buffer, sizeof buffer, NULL, NULL);
    wtm_text_decimal(&number, value, 3);
    while (number.used && buffer[number.used - 1] == '0')
        number.used--;
    if (number.used && buffer[number.used - 1] == '.')
        number.used--;
    begin_value(json, name);
    wtm_text_bytes(json->text, buffer, number.used);
}

void wtm_json_boolean(struct wtm_json *json, const char *name, int value)
{
    begin_value(json, name);
    wtm_text_string(json->text, value ? "true" : "false");
}

void wtm_json_null(struct wtm_json *json, const char *name)
{
    begin_value(json, name);
    wtm_text_string(json->text, "null");
}
