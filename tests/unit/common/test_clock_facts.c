/* SPDX-License-Identifier: MIT
 * The judgement of facts, fact by fact; granularity of counters that are made up. */
#include "common/clock_facts.h"
#include "common/clock_step.h"
#include "random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct wtm_clock_facts facts_of(int invariant, const char *current, const char *available)
{
    struct wtm_clock_facts facts = {.invariant = invariant};
    strcpy(facts.current, current);
    strcpy(facts.available, available);
    return facts;
}

Test(clock_facts, what_speaks_against_the_counter)
{
    static const struct {
        int invariant, stable;
        const char *current, *available, *against; /* a word of the reason; NULL: trusted */
    } cases[] = {
        {1, 0, "tsc", "", NULL},
        {0, 0, "tsc", "", NULL}, /* the kernel watches what it uses */
        {1, 0, "kvm-clock", "kvm-clock", NULL},
        {0, 1, "kvm-clock", "kvm-clock", NULL},
        {0, 0, "kvm-clock", "kvm-clock", "hypervisor"},
        {0, 0, "hyperv_clocksource_tsc_page", "", "hypervisor"},
        {1, 0, "hpet", "tsc hpet acpi_pm ", NULL}, /* the user's choice, no fault */
        {1, 0, "hpet", "hpet acpi_pm ", "kernel"},  /* marked unstable */
        {1, 0, "hpet", "hpet xtsc tscx", "kernel"},
        {0, 0, "hpet", "tsc hpet", "processor"},
        {1, 0, "", "", NULL}, /* no /sys: CPUID alone */
        {0, 0, "", "", "processor"},
        {1, 0, "acpi_pm", "", "kernel"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wtm_clock_facts facts = facts_of(cases[i].invariant, cases[i].current, cases[i].available);
        facts.stable_guest = cases[i].stable;
        const char *against = wtm_clock_facts_against(&facts);
        cr_assert(!against == !cases[i].against && (!against || strstr(against, cases[i].against)), "case %u: %s", i,
                  against ? against : "trusted");
        facts.unreadable = 1;
        cr_assert(strstr(wtm_clock_facts_against(&facts), "PR_SET_TSC"));
        facts.unreadable = 0;
        facts.unsteady = 1;
        cr_assert(strstr(wtm_clock_facts_against(&facts), "backwards"));
    }
}

Test(clock_facts, of_this_machine)
{
    struct wtm_clock_facts facts;
    memset(&facts, 0xff, sizeof facts);
    wtm_clock_facts_read(&facts);
    cr_assert(!facts.unreadable && !facts.unsteady);
    cr_assert_lt(strlen(facts.maker), sizeof facts.maker);
    cr_assert(!strchr(facts.current, '\n') && !strchr(facts.available, '\n'));
    cr_assert(!facts.stated_hz || (facts.stated_hz > 1000000 && facts.stated_hz < 100000000000u));
    cr_assert(!facts.stated_hz == (facts.stated_by == WTM_RATE_MEASURED));
}

/* A counter that moves by `step` ticks, read every 18 ticks and a little, with the pauses of wtm_clock_step_read(). */
static double now, step;
static uint64_t stepped(void)
{
    now += 18 + (double)(random_word() % 5);
    return (uint64_t)(step > 0 ? floor(now / step) * step : now);
}

static double found(size_t count)
{
    uint64_t readings[WTM_STEP_READINGS];
    now = (double)(random_word() >> 20);
    for (size_t i = 0; i < count; i++) {
        now += (double)(i * 7 % 23 * 5);
        readings[i] = stepped();
    }
    return wtm_clock_step(readings, count) / (double)WTM_STEP_FRACTION;
}

Test(clock_step, whole_and_uneven_steps_are_found)
{
    static const double steps[] = {1, 2, 3, 5, 8, 10, 10.02, 16, 20.96, 21, 24, 26.7, 36.4, 40, 64, 100.3};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        step = steps[i];
        for (int round = 0; round < 300; round++) {
            double is = found(WTM_STEP_READINGS);
            cr_assert(fabs(is - step) <= step * 0.002, "a step of %g was taken for %g", step, is);
        }
    }
}

Test(clock_step, a_counter_of_every_tick_is_not_suspected)
{
    step = 0;
    for (int round = 0; round < 20000; round++)
        cr_assert_eq(found(WTM_STEP_READINGS), 1);
}

static uint64_t still(void)
{
    return 5;
}
static uint64_t back(void)
{
    static uint64_t at = 1000;
    return --at;
}

Test(clock_step, no_counter_that_stands_or_goes_back)
{
    uint64_t readings[WTM_STEP_READINGS];
    cr_assert_eq(wtm_clock_step_read(still, readings, WTM_STEP_READINGS), -1);
    cr_assert_eq(wtm_clock_step(readings, WTM_STEP_READINGS), 0);
    cr_assert_eq(wtm_clock_step_read(back, readings, WTM_STEP_READINGS), -1);
    cr_assert_eq(wtm_clock_step(readings, WTM_STEP_READINGS), 0);
    cr_assert_eq(wtm_clock_step(readings, 0), 0);
    step = 21;
    cr_assert_eq(wtm_clock_step_read(stepped, readings, WTM_STEP_READINGS), 0);
}
