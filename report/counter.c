/* SPDX-License-Identifier: MIT
 * Sources of stamps. */
#include "report/counter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t read_real(const struct wtm_counter *counter, unsigned cpu)
{
    return wtm_clock_stamp();
}

static uint64_t read_simulated(const struct wtm_counter *counter, unsigned cpu)
{
    uint64_t since = wtm_clock_stamp() - counter->start, rounds = since / counter->period, phase = since % counter->period;
    uint64_t shown = since;
    if (cpu == counter->faulty_cpu) {
        if (phase < counter->stall)
            shown -= phase;
        shown += (uint64_t)counter->shift + (uint64_t)(int64_t)((double)since * counter->drift_ppb / 1e9);
    }
    return counter->start + shown - rounds * counter->back;
}

void wtm_counter_real(struct wtm_counter *counter)
{
    memset(counter, 0, sizeof *counter);
    counter->read = read_real;
}

static int read_word(struct wtm_counter *counter, const char *word, size_t length, const char *text)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || (*end && *end != ',') || !(value >= -1e15 && value <= 1e15))
        return -1;
    if (length == 5 && !strncmp(word, "shift", 5))
        counter->shift = (int64_t)value;
    else if (length == 5 && !strncmp(word, "drift", 5))
        counter->drift_ppb = value;
    else if (length == 4 && !strncmp(word, "back", 4) && value >= 0)
        counter->back = (uint64_t)value;
    else if (length == 5 && !strncmp(word, "stall", 5) && value >= 0)
        counter->stall = (uint64_t)value;
    else
        return -1;
    return 0;
}

int wtm_counter_simulated(struct wtm_counter *counter, const char *words, unsigned cpus)
{
    enum { PERIOD_TICKS = 2000000 }; /* some ms: each round sees it */
    wtm_counter_real(counter);
    counter->read = read_simulated;
    counter->faulty_cpu = cpus - 1;
    counter->period = PERIOD_TICKS;
    counter->start = wtm_clock_stamp();
    for (const char *word = words; *word;) {
        const char *equals = strchr(word, '='), *comma = strchr(word, ',');
        if (!equals || (comma && comma < equals) || read_word(counter, word, (size_t)(equals - word), equals + 1))
            return -1;
        word = comma ? comma + 1 : "";
    }
    return 0;
}
