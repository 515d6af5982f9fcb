/* SPDX-License-Identifier: MIT
 * Numbers as people read them: grouped counts, durations of three digits with a unit each. */
#include "common/text.h"

void wtm_text_grouped(struct wtm_text *text, uint64_t value)
{
    char digits[32];
    unsigned at = sizeof digits, count = 0;
    do {
        if (count && count % 3 == 0)
            digits[--at] = ',';
        digits[--at] = (char)('0' + value % 10);
        count++;
    } while (value /= 10);
    wtm_text_bytes(text, digits + at, sizeof digits - at);
}

static void put_two(struct wtm_text *text, uint64_t big, char big_unit, uint64_t small, char small_unit)
{
    wtm_text_grouped(text, big);
    wtm_text_char(text, big_unit, 1);
    wtm_text_unsigned(text, small);
    wtm_text_char(text, small_unit, 1);
}

/* From 1000 s up: minutes, hours, days. Durations beyond a computer's life come from damaged files; they get
 * no room. */
static void put_long(struct wtm_text *text, double ns)
{
    if (ns >= 9999.5 * 86400e9) {
        wtm_text_string(text, ">9999d");
        return;
    }
    uint64_t seconds = (uint64_t)(ns / 1e9 + 0.5);
    uint64_t minutes = (seconds + 30) / 60, hours = (seconds + 1800) / 3600;
    if (seconds < 3600)
        put_two(text, seconds / 60, 'm', seconds % 60, 's');
    else if (minutes < 100 * 60)
        put_two(text, minutes / 60, 'h', minutes % 60, 'm');
    else
        put_two(text, hours / 24, 'd', hours % 24, 'h');
}

void wtm_text_duration(struct wtm_text *text, double ns, double step_ns)
{
    static const struct {
        uint64_t hundredths; /* of a ns */
        const char *name;
    } units[] = {{100000000000, "s"}, {100000000, "ms"}, {100000, "us"}, {100, "ns"}};

    if (ns != ns) {
        wtm_text_char(text, '?', 1);
        return;
    }
    double size = ns < 0 ? -ns : ns;
    uint64_t value = size < 999.5e9 ? (uint64_t)(size * 100 + 0.5) : 0;
    if (ns < 0 && (value || size >= 999.5e9))
        wtm_text_char(text, '-', 1);
    if (size >= 999.5e9) {
        put_long(text, size);
        return;
    }
    if (!value) {
        wtm_text_string(text, "0ns");
        return;
    }
    uint64_t last = 1; /* what the last digit shown stands for */
    while ((value + last / 2) / last >= 1000)
        last *= 10;
    double step = step_ns * 100;
    while ((double)last * 2 < step && last * 10 <= value)
        last *= 10;
    value = (value + last / 2) / last * last;
    unsigned unit = 0;
    while (unit < 3 && value < units[unit].hundredths)
        unit++;
    wtm_text_unsigned(text, value / units[unit].hundredths);
    uint64_t digit = units[unit].hundredths / 10;
    if (digit >= last)
        wtm_text_char(text, '.', 1);
    for (; digit >= last && digit; digit /= 10)
        wtm_text_char(text, (char)('0' + value / digit % 10), 1);
    wtm_text_string(text, units[unit].name);
}
