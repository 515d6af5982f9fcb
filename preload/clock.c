/* SPDX-License-Identifier: MIT
 * The clock and its rate. General registers only: CPU-time renewals come here from inside timed calls. */
#include "preload/clock.h"
#include "common/clock_pair.h"
#include "common/clock_step.h"
#include "common/sys.h"
#include "preload/log.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/vdso.h"
#include <string.h>

struct wtm_clock wtm_clock = {.to_ns = {1, 0}, .to_ticks = {1, 0}};
uintptr_t wtm_timed_entry = (uintptr_t)wtm_entry;

static wtm_vdso_gettime *vdso;
static struct wtm_clock_facts facts;
static const char *against; /* the TSC */
static uint32_t clock_step;
static uint64_t held_ns;

uint64_t wtm_clock_ns(int clock_id)
{
    struct timespec t = {0, 0};
    wtm_syscall3(SYS_clock_gettime, clock_id, (long)&t, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int has_vdso(void)
{
    return vdso && !wtm_process.tsc_off;
}

int wtm_clock_needs_calls(void)
{
    return wtm_clock.monotonic && (!has_vdso() || wtm_clock.vdso_calls);
}

static uint64_t by_vdso(clockid_t clock)
{
    struct timespec t = {0, 0};
    if (!has_vdso() || vdso(clock, &t))
        return wtm_clock_ns(clock);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t wtm_clock_monotonic(void)
{
    if (WTM_UNLIKELY(wtm_process.sandboxed && wtm_clock_needs_calls()))
        return held_ns;
    return by_vdso(CLOCK_MONOTONIC);
}

void wtm_clock_hold(void)
{
    if (wtm_clock.monotonic)
        held_ns = wtm_clock_monotonic();
}

int wtm_clock_is_barred(void)
{
    return wtm_clock.monotonic ? wtm_process.sandboxed && wtm_clock_needs_calls() : (int)wtm_process.tsc_off;
}

struct wtm_clock_pair wtm_clock_pair_in(struct wtm_clock_pair *tries)
{
    enum { TRIES = WTM_CLOCK_PAIR_TRIES };
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = wtm_clock_ticks();
        uint64_t ns = by_vdso(CLOCK_MONOTONIC_RAW);
        uint64_t took = wtm_clock_ticks() - before;
        tries[i] = (struct wtm_clock_pair){before + took / 2, ns, took};
        shortest = took < shortest ? took : shortest;
    }
    return wtm_clock_pair_mean(tries, TRIES, shortest);
}

struct wtm_clock_pair wtm_clock_pair(void)
{
    struct wtm_clock_pair tries[WTM_CLOCK_PAIR_TRIES];
    return wtm_clock_pair_in(tries);
}

/* By the lengths of its steps; a counter that does not get on is told from one that does. */
static void look_at_steps(void)
{
    uint64_t readings[WTM_STEP_READINGS];
    int unsteady = wtm_clock_step_read(wtm_clock.monotonic ? wtm_clock_monotonic : wtm_clock_tsc, readings, WTM_STEP_READINGS);
    clock_step = unsteady ? 0 : wtm_clock_step(readings, WTM_STEP_READINGS);
    facts.unsteady |= unsteady && !wtm_clock.monotonic;
}

void wtm_clock_choose(int wanted)
{
    vdso = wtm_vdso_find();
    wtm_clock_facts_read(&facts);
    wtm_process.tsc_off = (uint32_t)facts.unreadable;
    wtm_clock.vdso_calls = !wtm_clock_facts_vdso(&facts);
    if (!facts.unreadable)
        look_at_steps();
    against = wtm_clock_facts_against(&facts);
    wtm_clock.monotonic = wanted == WTM_CLOCK_MONOTONIC || facts.unreadable || (against && wanted != WTM_CLOCK_TSC);
    if (!wtm_clock.monotonic && against)
        wtm_log("the time-stamp counter cannot be trusted: ", against, "; it is used all the same, as WTM_CLOCK=tsc says");
    if (!wtm_clock.monotonic)
        return;
    wtm_timed_entry = (uintptr_t)wtm_entry_clocked;
    look_at_steps();
    if (wanted == WTM_CLOCK_MONOTONIC)
        against = "as set by WTM_CLOCK";
    else
        wtm_log("the time-stamp counter is not used: ", against, "; times are by CLOCK_MONOTONIC instead, which costs more. "
                "`wtm clock` measures the counter", facts.unreadable ? "" : "; WTM_CLOCK=tsc insists on it");
}

void wtm_clock_describe(struct wtm_profile_header *header)
{
    header->clock = wtm_clock.monotonic ? WTM_CLOCK_MONOTONIC : WTM_CLOCK_TSC;
    header->clock_trusted = wtm_clock.monotonic || !against;
    header->clock_step = clock_step;
    if (!against)
        return;
    static const char before[] = "not the TSC: ";
    char *to = header->clock_note;
    size_t room = sizeof header->clock_note - 1, used = wtm_clock.monotonic ? sizeof before - 1 : 0;
    memcpy(to, before, used);
    size_t length = strnlen(against, room - used);
    memcpy(to + used, against, length);
    to[used + length] = 0;
}

/* Stated, or measured over what start-up took so far. That is some milliseconds as a rule; in a process too small for that
 * the first 100 us are waited for. */
void wtm_clock_find_rate(struct wtm_profile_header *header)
{
    uint64_t hz = wtm_clock.monotonic ? 1000000000 : facts.stated_hz;
    header->rate_source = wtm_clock.monotonic ? WTM_RATE_CLOCK : facts.stated_by;
    if (hz) {
        wtm_clock.to_ns = wtm_conversion_ratio(1000000000, hz);
        wtm_clock.to_ticks = wtm_conversion_ratio(hz, 1000000000);
    } else {
        struct wtm_clock_pair now, *first = &header->first;
        do
            now = wtm_clock_pair();
        while (now.monotonic_raw_ns - first->monotonic_raw_ns < 100000);
        wtm_clock.to_ns = wtm_conversion_ratio(now.monotonic_raw_ns - first->monotonic_raw_ns, now.ticks - first->ticks);
        wtm_clock.to_ticks = wtm_conversion_ratio(now.ticks - first->ticks, now.monotonic_raw_ns - first->monotonic_raw_ns);
        hz = wtm_convert(wtm_clock.to_ticks, 1000000000);
    }
    header->tick_hz_hint = hz;
}
