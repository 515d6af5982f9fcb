/* SPDX-License-Identifier: MIT
 * The judgement of stamps on counters that are made up: each fault is found down to the size that is told, and no sound
 * counter is accused. True time is known here, so bounds can be checked against it. */
#include "report/clock_judge.h"
#include "report/counter.h"
#include "../common/random.h"
#include <criterion/criterion.h>

enum { CPUS = 4, LEAST = 150, STAMPS = 20000 }; /* CPUS share stamps that are LEAST ticks or more apart */

struct fault {
    int64_t shift, back, stall;
    double drift_ppb;
    uint64_t step; /* granularity */
};

static struct wtm_clock_judge judge;
static uint64_t nearest; /* of two stamps of different CPUs */

/* Takes STAMPS stamps over some 20 ms of true time. The last CPU is at fault; a step back or stand-still comes in the middle. */
static void take(const struct fault *fault, unsigned cpus)
{
    struct wtm_own_stamps own[CPUS] = {{0}};
    uint64_t now = random_word() >> 4, begin = now, middle = begin + (uint64_t)STAMPS * 1000, before = 0;
    unsigned at = 0;
    nearest = UINT64_MAX;
    cr_assert_eq(wtm_clock_judge_begin(&judge, cpus), 0);
    for (uint64_t i = 1; i <= STAMPS; i++) {
        unsigned cpu = (unsigned)(random_word() % cpus);
        now += LEAST + (random_word() % 8 ? random_word() % 400 : random_word() % 15000);
        if (before && cpu != at && now - before < nearest)
            nearest = now - before;
        uint64_t shown = now;
        if (cpu == cpus - 1) {
            shown += (uint64_t)fault->shift + (uint64_t)(int64_t)((double)(now - begin) * fault->drift_ppb / 1e9);
            if (now > middle && now < middle + (uint64_t)fault->stall)
                shown = middle;
        }
        shown -= now > middle ? (uint64_t)fault->back : 0;
        shown = fault->step ? shown / fault->step * fault->step : shown;
        wtm_own_stamp(&own[cpu], shown);
        wtm_clock_judge_add(&judge, (struct wtm_stamp){i, shown}, cpu, i < STAMPS / 4 ? 0 : i < STAMPS * 3 / 4 ? 1 : 2);
        before = now;
        at = cpu;
    }
    for (unsigned i = 0; i < cpus; i++)
        wtm_clock_judge_own(&judge, &own[i]);
}

static int is_accused(void)
{
    struct wtm_shift shift = wtm_clock_judge_shift(&judge, 0);
    struct wtm_drift drift = wtm_clock_judge_drift(&judge);
    return shift.is_fault || (drift.is_known && drift.is_fault) || judge.falls || wtm_clock_judge_stands(&judge, 256);
}

Test(clock_judge, no_sound_counter_is_accused)
{
    for (int round = 0; round < 200; round++) {
        struct fault none = {.step = round % 3 ? 0 : 21};
        unsigned cpus = 2 + (unsigned)round % 3;
        take(&none, cpus);
        struct wtm_shift shift = wtm_clock_judge_shift(&judge, 0);
        cr_assert(!is_accused(), "round %d", round);
        cr_assert(shift.low <= 0 && shift.high >= 0 && shift.most < 2 * LEAST && shift.fewest_changes > 100);
        wtm_clock_judge_end(&judge);
    }
}

Test(clock_judge, the_true_shift_is_within_its_bounds_and_found_from_the_size_told)
{
    for (int round = 0; round < 400; round++) {
        struct fault fault = {.shift = (int64_t)(random_word() % 1200) - 600};
        take(&fault, 2);
        struct wtm_shift shift = wtm_clock_judge_shift(&judge, 0);
        cr_assert(shift.low <= fault.shift && fault.shift <= shift.high, "%ld is not within %ld .. %ld", fault.shift, shift.low,
                  shift.high);
        int64_t size = fault.shift < 0 ? -fault.shift : fault.shift;
        if (size > 2 * LEAST)
            cr_assert(shift.is_fault && judge.falls, "a shift of %ld was not found", fault.shift);
        if (size < LEAST)
            cr_assert(!is_accused(), "a shift of %ld, within the bounds, was held against it", fault.shift);
        struct wtm_shift tolerant = wtm_clock_judge_shift(&judge, size);
        cr_assert(!tolerant.is_fault, "a shift of %ld was not tolerated", fault.shift);
        wtm_clock_judge_end(&judge);
    }
}

Test(clock_judge, the_pair_that_is_apart_is_named)
{
    struct fault fault = {.shift = 100000};
    take(&fault, CPUS);
    struct wtm_shift shift = wtm_clock_judge_shift(&judge, 0);
    cr_assert(shift.is_fault && shift.second == CPUS - 1 && shift.first < CPUS - 1);
    cr_assert(shift.low > 99000 && shift.high < 101000 && shift.most >= 100000);
    wtm_clock_judge_end(&judge);
}

Test(clock_judge, a_step_back_is_found_when_it_is_larger_than_the_distance_of_stamps)
{
    for (int round = 0; round < 200; round++) {
        struct fault fault = {.back = 400 + (int64_t)(random_word() % 100000)};
        take(&fault, 2);
        uint64_t usual = wtm_clock_judge_distance(&judge);
        cr_assert(usual >= 512 && usual <= 32768, "%lu", usual);
        if ((uint64_t)fault.back > 16000) /* the largest distance here */
            cr_assert(is_accused() && judge.falls && judge.deepest_fall <= (uint64_t)fault.back, "%ld", fault.back);
        if (judge.falls)
            cr_assert(is_accused());
        wtm_clock_judge_end(&judge);
    }
}

Test(clock_judge, a_drift_is_found_from_the_size_told)
{
    for (int round = 0; round < 200; round++) {
        struct fault fault = {.drift_ppb = ((double)(random_word() % 200000) - 100000)};
        take(&fault, 2);
        struct wtm_drift drift = wtm_clock_judge_drift(&judge);
        double size = fault.drift_ppb < 0 ? -fault.drift_ppb : fault.drift_ppb;
        cr_assert(drift.is_known);
        if (size > 40000)
            cr_assert(is_accused(), "a drift of %g ppb was not found", fault.drift_ppb);
        if (size > 60000)
            cr_assert(drift.is_fault, "a drift of %g ppb was taken for something else", fault.drift_ppb);
        if (size < 2000)
            cr_assert(!is_accused(), "%g ppb over this time is within the bounds", fault.drift_ppb);
        wtm_clock_judge_end(&judge);
    }
    struct fault none = {0};
    take(&none, 2);
    struct wtm_drift drift = wtm_clock_judge_drift(&judge);
    cr_assert(drift.is_known && drift.low_ppb <= 0 && drift.high_ppb >= 0 && drift.high_ppb < 40000);
    wtm_clock_judge_end(&judge);
}

Test(clock_judge, a_stand_still_is_found)
{
    struct fault fault = {.stall = 40000};
    for (unsigned cpus = 1; cpus <= CPUS; cpus++) {
        take(&fault, cpus);
        cr_assert(is_accused(), "a stand-still on one of %u CPUs", cpus);
        cr_assert(cpus > 2 || wtm_clock_judge_stands(&judge, 256), "of %u CPUs", cpus);
        cr_assert(!wtm_clock_judge_stands(&judge, 100000 * 256), "with steps of that length it is none");
        wtm_clock_judge_end(&judge);
    }
}

Test(clock_judge, without_stamps_nothing_is_known)
{
    cr_assert_eq(wtm_clock_judge_begin(&judge, 3), 0);
    struct wtm_shift shift = wtm_clock_judge_shift(&judge, 0);
    cr_assert(!shift.is_fault && shift.low == INT64_MIN && shift.high == INT64_MAX && shift.most == INT64_MAX &&
              !shift.fewest_changes);
    cr_assert(!wtm_clock_judge_drift(&judge).is_known && !wtm_clock_judge_distance(&judge) && !is_accused());
    wtm_clock_judge_end(&judge);
    cr_assert_eq(wtm_clock_judge_begin(&judge, 1), 0);
    wtm_clock_judge_add(&judge, (struct wtm_stamp){1, 5}, 0, 0);
    cr_assert(wtm_clock_judge_shift(&judge, 0).most == INT64_MAX && !is_accused());
    wtm_clock_judge_end(&judge);
}

Test(counter, simulated_faults_are_as_asked_for)
{
    struct wtm_counter counter, sound;
    static const char *const wrong[] = {"shift", "shift=", "shift=x", "shift=1;", "stall=-1", "back=-5", "leap=3", "shift=1,,", "="};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(wtm_counter_simulated(&counter, wrong[i], 2), -1, "%s", wrong[i]);
    cr_assert_eq(wtm_counter_simulated(&counter, "shift=-1000000000,drift=5", 2), 0);
    cr_assert_eq(wtm_counter_simulated(&sound, "", 2), 0);
    cr_assert_eq(counter.faulty_cpu, 1);
    cr_assert(counter.read(&counter, 1) + 500000000 < sound.read(&sound, 1));
    cr_assert(counter.read(&counter, 0) + 500000000 > sound.read(&sound, 0));
    wtm_counter_real(&counter);
    uint64_t before = counter.read(&counter, 0);
    cr_assert(counter.read(&counter, 1) >= before);
}
