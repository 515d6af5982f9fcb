/* SPDX-License-Identifier: MIT
 * Rates by several clocks at once. */
#include "report/clock_rate.h"
#include "common/clock_pair.h"
#include "report/clock_methods.h"
#include <errno.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

const char *const wtm_rate_clock_names[WTM_RATE_CLOCKS] = {"monotonic_raw", "monotonic", "realtime"};
static const clockid_t clocks[WTM_RATE_CLOCKS] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME};

static struct wtm_clock_pair take(clockid_t clock)
{
    enum { TRIES = 32 };
    struct wtm_clock_pair tries[TRIES];
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = wtm_clock_stamp(), at = wtm_clock_now_ns(clock), took = wtm_clock_stamp() - before;
        tries[i] = (struct wtm_clock_pair){before + took / 2, at, took};
        shortest = took < shortest ? took : shortest;
    }
    return wtm_clock_pair_mean(tries, TRIES, shortest);
}

void wtm_rate_pairs_take(struct wtm_rate_pairs *pairs)
{
    if (pairs->count == WTM_FIT_PAIRS) { /* every other one goes, so that they stay spread */
        for (int c = 0; c < WTM_RATE_CLOCKS; c++)
            for (size_t i = 1; i < WTM_FIT_PAIRS / 2; i++)
                pairs->pairs[c][i] = pairs->pairs[c][2 * i];
        pairs->count = WTM_FIT_PAIRS / 2;
    }
    for (int c = 0; c < WTM_RATE_CLOCKS; c++)
        pairs->pairs[c][pairs->count] = take(clocks[c]);
    pairs->count++;
}

static void ask_kernel(struct wtm_rate_check *check)
{
    struct timex state;
    memset(&state, 0, sizeof state);
    if (adjtimex(&state) < 0)
        return;
    check->is_steered = !(state.status & STA_UNSYNC);
    check->steering_ppb = (double)state.freq / 65536 * 1000 + ((double)state.tick - 10000) * 100000;
}

void wtm_rate_check(struct wtm_rate_check *check, double seconds)
{
    struct wtm_rate_pairs pairs = {.count = 0};
    uint64_t begin = wtm_clock_now_ns(CLOCK_MONOTONIC), end = begin + (uint64_t)(seconds * 1e9);
    memset(check, 0, sizeof *check);
    for (int i = 0; i < WTM_FIT_PAIRS; i++) {
        uint64_t at = begin + (uint64_t)(seconds * 1e9 * i / (WTM_FIT_PAIRS - 1));
        struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
        wtm_rate_pairs_take(&pairs);
    }
    check->seconds = (double)(end - begin) / 1e9;
    for (int c = 0; c < WTM_RATE_CLOCKS; c++)
        check->known[c] = !wtm_clock_fit(&check->fit[c], pairs.pairs[c], pairs.count);
    ask_kernel(check);
}
