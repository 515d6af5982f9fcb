/* SPDX-License-Identifier: MIT
 * The rate of a profile's clock, of what its header holds. */
#include "common/clock_fit.h"

/* Of all pairs that the process took: at its start, on its way, and when a table was made. */
static size_t collect(struct wtm_clock_pair *pairs, const struct wtm_profile_header *header)
{
    size_t n = 0, count = header->pair_count < WTM_CLOCK_PAIRS ? header->pair_count : WTM_CLOCK_PAIRS;
    if (!header->first.monotonic_raw_ns)
        return 0;
    pairs[n++] = header->first;
    for (size_t i = 0; i < count; i++)
        if (header->pairs[i].monotonic_raw_ns)
            pairs[n++] = header->pairs[i];
    if (header->last.monotonic_raw_ns > header->first.monotonic_raw_ns && header->last.ticks > header->first.ticks)
        pairs[n++] = header->last;
    return n;
}

static int is_sane(double ns_per_tick)
{
    return ns_per_tick >= 1e-3 && ns_per_tick <= 1e3;
}

/* The stated rate is exact, if it is true: it is taken where the pairs do not contradict it. */
static void choose(struct wtm_clock_rate *rate, const struct wtm_profile_header *header, const struct wtm_clock_fit *fit)
{
    double stated = header->tick_hz_hint ? 1e9 / (double)header->tick_hz_hint : 0;
    int is_stated = header->rate_source != WTM_RATE_MEASURED && is_sane(stated);
    if (is_stated && fit)
        rate->stated_ppb = (fit->ns_per_tick / stated - 1) * 1e9;
    double off = rate->stated_ppb < 0 ? -rate->stated_ppb : rate->stated_ppb;
    if (fit && !(is_stated && off <= fit->interval_ppb + 1)) {
        rate->to_ns = wtm_conversion_of(fit->ns_per_tick);
        rate->source = WTM_RATE_PAIRS;
    } else if (is_sane(stated)) {
        rate->to_ns = wtm_conversion_ratio(1000000000, header->tick_hz_hint);
        rate->source = header->rate_source <= WTM_RATE_PAIRS ? (enum wtm_rate_source)header->rate_source : WTM_RATE_MEASURED;
    } else {
        rate->to_ns = (struct wtm_conversion){1, 0};
    }
    rate->interval_ppb = fit ? fit->interval_ppb : -1;
}

void wtm_profile_rate(const struct wtm_profile_header *header, struct wtm_clock_rate *rate)
{
    struct wtm_clock_pair pairs[WTM_FIT_PAIRS];
    struct wtm_clock_fit fit;
    *rate = (struct wtm_clock_rate){.to_ns = {1, 0}, .source = WTM_RATE_CLOCK};
    if (header->clock != WTM_CLOCK_MONOTONIC) {
        int none = wtm_clock_fit(&fit, pairs, collect(pairs, header));
        choose(rate, header, none ? NULL : &fit);
        rate->pairs = none ? 0 : fit.used;
        rate->dropped = none ? 0 : fit.dropped;
    }
    rate->ns_per_tick = (double)wtm_conversion_factor(rate->to_ns);
    double step = (double)header->clock_step / 256 * rate->ns_per_tick;
    rate->step_ns = step < 1e9 ? step : 0;
}
