/* SPDX-License-Identifier: MIT
 * Text, names, units: what common/text.h promises. */
#include "common/text.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char result[4096];

static int collect(void *context, const char *text, size_t bytes)
{
    (void)context;
    strncat(result, text, bytes);
    return 0;
}

/* A buffer of three bytes, so that every text crosses it. */
#define GIVES(expected, call)                                                                                \
    do {                                                                                                     \
        char small[3];                                                                                       \
        struct wtm_text t;                                                                                   \
        result[0] = 0;                                                                                       \
        wtm_text_init(&t, small, sizeof small, collect, NULL);                                               \
        call;                                                                                                \
        cr_assert_eq(wtm_text_flush(&t), 0);                                                                 \
        cr_assert_str_eq(result, expected);                                                                  \
    } while (0)

Test(text, numbers)
{
    GIVES("0", wtm_text_unsigned(&t, 0));
    GIVES("18446744073709551615", wtm_text_unsigned(&t, UINT64_MAX));
    GIVES("-9223372036854775808", wtm_text_signed(&t, INT64_MIN));
    GIVES("42", wtm_text_signed(&t, 42));
    GIVES("0xdeadbeef", wtm_text_hex(&t, 0xdeadbeef));
    GIVES("0", wtm_text_grouped(&t, 0));
    GIVES("999", wtm_text_grouped(&t, 999));
    GIVES("1,507", wtm_text_grouped(&t, 1507));
    GIVES("18,446,744,073,709,551,615", wtm_text_grouped(&t, UINT64_MAX));
}

Test(text, decimals)
{
    GIVES("1.284", wtm_text_decimal(&t, 1.284, 3));
    GIVES("1.05", wtm_text_decimal(&t, 1.05, 2));
    GIVES("1", wtm_text_decimal(&t, 0.5, 0));
    GIVES("-0.3", wtm_text_decimal(&t, -0.26, 1));
    GIVES("0.0", wtm_text_decimal(&t, -0.04, 1)); /* no sign before nothing */
    GIVES("10.00", wtm_text_decimal(&t, 9.999, 2));
    GIVES("18446744073709549568.0", wtm_text_decimal(&t, 18446744073709549568.0, 1));
    GIVES("18446744073709551616", wtm_text_decimal(&t, 18446744073709551616.0, 0));
    GIVES("nan", wtm_text_decimal(&t, NAN, 1));
    GIVES("-inf", wtm_text_decimal(&t, -INFINITY, 1));
    double values[] = {1e22, 1e25, -3e40, 1.7976931348623157e308, 12345678901234567890123.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[400];
        snprintf(expected, sizeof expected, "%.2f", values[i]);
        GIVES(expected, wtm_text_decimal(&t, values[i], 2));
    }
}

Test(text, durations)
{
    static const struct {
        double ns, step;
        const char *expected;
    } cases[] = {
        {0, 0, "0ns"},
        {0.3, 0, "0.30ns"},
        {52, 0, "52.0ns"},
        {52.1, 0.3, "52ns"},
        {812e6, 0, "812ms"},
        {1.31e6, 0, "1.31ms"},
        {2980, 0, "2.98us"},
        {9.8e3, 0, "9.80us"},
        {9.999e3, 0, "10.0us"},
        {999.4, 0, "999ns"},
        {999.6, 0, "1.00us"},
        {999999, 0, "1.00ms"},
        {5.1023e6, 29e3, "5.1ms"},
        {48, 10.02, "50ns"},
        {-1310, 0, "-1.31us"},
        {-0.001, 0, "0ns"},
        {1e9, 0, "1.00s"},
        {999e9, 0, "999s"},
        {999.6e9, 0, "16m40s"},
        {7980e9, 0, "2h13m"},
        {3599.6e9, 0, "1h0m"},
        {100 * 3600e9, 0, "4d4h"},
        {86400e9 * 9000, 0, "9,000d0h"},
        {1e30, 0, ">9999d"},
        {-7980e9, 0, "-2h13m"},
        {4, 1e9, "4ns"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        GIVES(cases[i].expected, wtm_text_duration(&t, cases[i].ns, cases[i].step));
    GIVES("?", wtm_text_duration(&t, NAN, 0));
}

/* Over the whole range: three digits at most, read back within half a last digit. */
Test(text, durations_read_back)
{
    for (double ns = 0.011; ns < 900e9; ns *= 1.0137) {
        char buffer[32], unit[8];
        struct wtm_text t;
        double value;
        wtm_text_init(&t, buffer, sizeof buffer - 1, NULL, NULL);
        wtm_text_duration(&t, ns, 0);
        buffer[t.used] = 0;
        cr_assert_eq(sscanf(buffer, "%lf%7s", &value, unit), 2, "%s", buffer);
        value *= !strcmp(unit, "ns") ? 1 : !strcmp(unit, "us") ? 1e3 : !strcmp(unit, "ms") ? 1e6 : 1e9;
        cr_assert_leq(fabs(value - ns), ns * 0.00501 + 0.00501, "%s for %f", buffer, ns);
        cr_assert_leq(t.used, 6, "%s", buffer);
    }
}

Test(text, names)
{
    GIVES("ns::Box<int>::get", wtm_text_name(&t, "ns::Box<int>::get"));
    GIVES("\\x1b[31mred\\x0a", wtm_text_name(&t, "\x1b[31mred\n"));
    GIVES("gr\xc3\xbc\xc3\x9f", wtm_text_name(&t, "gr\xc3\xbc\xc3\x9f"));
    GIVES("\\xff\\xc3(", wtm_text_name(&t, "\xff\xc3("));
    GIVES("\\xc2\\x9b", wtm_text_name(&t, "\xc2\x9b"));                   /* CSI of eight bits */
    GIVES("\\xe2\\x80\\xae", wtm_text_name(&t, "\xe2\x80\xae"));          /* right-to-left override */
    GIVES("\\xc0\\x8a", wtm_text_name(&t, "\xc0\x8a"));                   /* overlong newline */
    GIVES("\\xed\\xa0\\x80", wtm_text_name(&t, "\xed\xa0\x80"));          /* a surrogate */
    GIVES("\\xf4\\x90\\x80\\x80", wtm_text_name(&t, "\xf4\x90\x80\x80")); /* beyond Unicode */
    GIVES("\\xe2\\x82", wtm_text_name(&t, "\xe2\x82"));                   /* cut off */
    cr_assert_eq(wtm_text_name_columns("abc"), 3);
    cr_assert_eq(wtm_text_name_columns("\x1b"), 4);
    cr_assert_eq(wtm_text_name_columns("\xe6\xbc\xa2"), 2); /* wide */
    cr_assert_eq(wtm_text_name_columns("e\xcc\x81"), 1);    /* combining */
    GIVES("abcdef", wtm_text_name_cut(&t, "abcdef", 6));
    GIVES("ab...g", wtm_text_name_cut(&t, "abcdefg", 6));
    GIVES("a...z", wtm_text_name_cut(&t, "abcdefghijklmnopqrstuvwxyz", 5));
    for (size_t columns = 5; columns < 40; columns++) {
        char small[200];
        struct wtm_text t;
        wtm_text_init(&t, small, sizeof small - 1, NULL, NULL);
        wtm_text_name_cut(&t, "\x1b\x1b\xe6\xbc\xa2 some \xff name \xe6\xbc\xa2\xe6\xbc\xa2 of all kinds\n\n",
                          columns);
        small[t.used] = 0;
        cr_assert_leq(wtm_text_name_columns(small), columns, "%zu: %s", columns, small);
    }
}

static int failing(void *context, const char *text, size_t bytes)
{
    (*(int *)context)++;
    return -EIO;
}

Test(text, bounds_and_errors)
{
    char buffer[8] = "#######";
    struct wtm_text t;
    wtm_text_init(&t, buffer, 4, NULL, NULL);
    wtm_text_string(&t, "ab");
    cr_assert_eq(wtm_text_flush(&t), 0);
    cr_assert_eq(t.used, 2);
    wtm_text_string(&t, "cdef");
    cr_assert_eq(wtm_text_flush(&t), -ENOSPC);
    cr_assert_eq(memcmp(buffer, "abcd###", 7), 0);

    int calls = 0;
    wtm_text_init(&t, buffer, 4, failing, &calls);
    for (int i = 0; i < 100; i++)
        wtm_text_string(&t, "abcdef");
    cr_assert_eq(wtm_text_flush(&t), -EIO);
    cr_assert_eq(calls, 1); /* the first error ends it */
}
