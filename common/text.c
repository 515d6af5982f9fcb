/* SPDX-License-Identifier: MIT
 * The text builder: bytes, numbers. Names are in text_name.c, units in units.c. */
#include "common/text.h"
#include <errno.h>
#include <string.h>

void wtm_text_init(struct wtm_text *text, char *buffer, size_t capacity, wtm_text_sink *sink, void *context)
{
    text->buffer = buffer;
    text->capacity = capacity;
    text->used = 0;
    text->sink = sink;
    text->context = context;
    text->error = 0;
}

int wtm_text_flush(struct wtm_text *text)
{
    if (!text->error && text->sink && text->used) {
        text->error = text->sink(text->context, text->buffer, text->used);
        text->used = 0;
    }
    return text->error;
}

void wtm_text_bytes(struct wtm_text *text, const char *bytes, size_t count)
{
    while (count && !text->error) {
        size_t room = text->capacity - text->used;
        size_t part = count < room ? count : room;
        memcpy(text->buffer + text->used, bytes, part);
        text->used += part;
        bytes += part;
        count -= part;
        if (!count)
            break;
        if (!text->sink || !text->capacity)
            text->error = -ENOSPC;
        else
            wtm_text_flush(text);
    }
}

void wtm_text_string(struct wtm_text *text, const char *string)
{
    wtm_text_bytes(text, string, strlen(string));
}

void wtm_text_char(struct wtm_text *text, char c, unsigned count)
{
    while (count--)
        wtm_text_bytes(text, &c, 1);
}

static void put_base(struct wtm_text *text, uint64_t value, unsigned base)
{
    char digits[20];
    unsigned at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[value % base];
    while (value /= base);
    wtm_text_bytes(text, digits + at, sizeof digits - at);
}

void wtm_text_unsigned(struct wtm_text *text, uint64_t value)
{
    put_base(text, value, 10);
}

void wtm_text_signed(struct wtm_text *text, int64_t value)
{
    if (value < 0)
        wtm_text_char(text, '-', 1);
    put_base(text, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

void wtm_text_hex(struct wtm_text *text, uint64_t value)
{
    wtm_text_string(text, "0x");
    put_base(text, value, 16);
}

/* `digits` digits of value, zeros in front. */
static void put_padded(struct wtm_text *text, uint64_t value, unsigned digits)
{
    uint64_t power = 1;
    for (unsigned i = 1; i < digits; i++)
        power *= 10;
    for (; power; power /= 10)
        wtm_text_char(text, (char)('0' + value / power % 10), 1);
}

/* A double of 2^64 and more is an integer: mantissa x 2^shift, here multiplied out in limbs of nine decimal
 * digits. */
static void put_huge(struct wtm_text *text, double value)
{
    enum { LIMB = 1000000000, LIMBS = 36 }; /* 9 x 36 digits > 10^309 */
    union {
        double value;
        uint64_t bits;
    } parts = {value};
    unsigned shift = (unsigned)(parts.bits >> 52 & 0x7ff) - 1075;
    uint64_t mantissa = (parts.bits & ((1ull << 52) - 1)) | 1ull << 52;
    uint32_t limbs[LIMBS] = {(uint32_t)(mantissa % LIMB), (uint32_t)(mantissa / LIMB)};
    unsigned used = 2;
    while (shift) {
        unsigned step = shift < 29 ? shift : 29;
        uint64_t carry = 0;
        for (unsigned i = 0; i < used; i++) {
            carry += (uint64_t)limbs[i] << step;
            limbs[i] = (uint32_t)(carry % LIMB);
            carry /= LIMB;
        }
        while (carry && used < LIMBS) {
            limbs[used++] = (uint32_t)(carry % LIMB);
            carry /= LIMB;
        }
        shift -= step;
    }
    while (used > 1 && !limbs[used - 1])
        used--;
    wtm_text_unsigned(text, limbs[--used]);
    while (used)
        put_padded(text, limbs[--used], 9);
}

void wtm_text_decimal(struct wtm_text *text, double value, unsigned digits)
{
    if (value != value) {
        wtm_text_string(text, "nan");
        return;
    }
    if (digits > 15)
        digits = 15;
    uint64_t power = 1;
    for (unsigned i = 0; i < digits; i++)
        power *= 10;
    double size = value < 0 ? -value : value,
           whole_limit = 18446744073709549568.0; /* largest double below 2^64 */
    if (size > 1.7976931348623157e308) {
        wtm_text_string(text, value < 0 ? "-inf" : "inf");
        return;
    }
    uint64_t whole = size <= whole_limit ? (uint64_t)size : 0;
    uint64_t part = size <= whole_limit ? (uint64_t)((size - (double)whole) * (double)power + 0.5) : 0;
    if (part >= power) {
        whole++;
        part -= power;
    }
    if (value < 0 && (whole || part || size > whole_limit))
        wtm_text_char(text, '-', 1);
    if (size > whole_limit)
        put_huge(text, size);
    else
        wtm_text_unsigned(text, whole);
    if (digits) {
        wtm_text_char(text, '.', 1);
        put_padded(text, part, digits);
    }
}
