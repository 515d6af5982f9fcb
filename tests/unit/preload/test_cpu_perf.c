/* SPDX-License-Identifier: MIT
 * The time that a perf event's page tells, against 128-bit arithmetic; and a page of the kernel's, where it gives one. */
#include "preload/cpu_perf.h"
#include "preload/process.h"
#include <criterion/criterion.h>
#include <time.h>

struct wtm_process wtm_process;

static uint64_t state = 88172645463325252u;

static uint64_t number(void) /* xorshift64, Marsaglia 2003 */
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

Test(cpu_perf, a_page_without_time_says_so)
{
    struct perf_event_mmap_page page = {.time_mult = 1, .time_enabled = 5};
    uint64_t ns = 77;
    cr_assert_eq(wtm_perf_time(&page, 1000, &ns), 0);
    cr_assert_eq(ns, 77);
}

Test(cpu_perf, a_shift_that_cannot_be_is_refused)
{
    struct perf_event_mmap_page page = {.cap_user_time = 1, .time_mult = 1, .time_shift = 64};
    uint64_t ns;
    cr_assert_eq(wtm_perf_time(&page, 1000, &ns), 0);
}

/* ns = enabled + offset + ticks * mult >> shift, whatever the page holds. */
Test(cpu_perf, the_time_is_the_scaled_counter)
{
    for (int i = 0; i < 100000; i++) {
        struct perf_event_mmap_page page = {.cap_user_time = 1};
        page.time_mult = (uint32_t)number();
        page.time_shift = (uint16_t)(number() % 33); /* the kernel's are 32 at most */
        page.time_offset = number() >> 8;
        page.time_enabled = number() >> 8;
        uint64_t ticks = number() >> 4, ns = 0;
        uint64_t scaled = (uint64_t)((unsigned __int128)ticks * page.time_mult >> page.time_shift);
        cr_assert(wtm_perf_time(&page, ticks, &ns));
        uint64_t off = ns - (page.time_enabled + page.time_offset + scaled);
        cr_assert_eq(off, 0, "mult %u shift %u ticks %lu: off by %ld", page.time_mult, page.time_shift, ticks, (long)off);
    }
}

/* A counter of 40 bits that went round since the page was written. */
Test(cpu_perf, a_short_counter_goes_on_where_it_wrapped)
{
    const uint64_t mask = ((uint64_t)1 << 40) - 1;
    struct perf_event_mmap_page page = {.cap_user_time = 1, .time_mult = 1};
    page.cap_user_time_short = 1;
    page.time_mask = mask;
    page.time_cycles = 3 * (mask + 1) - 100;
    uint64_t ns;
    cr_assert(wtm_perf_time(&page, 50, &ns));
    cr_assert_eq(ns, page.time_cycles + 150);
}

Test(cpu_perf, the_word_changes_when_the_thread_sleeps)
{
    int problem = 0;
    struct perf_event_mmap_page *page = wtm_perf_open(&problem);
    if (!page) {
        cr_assert_lt(problem, 0);
        cr_skip_test("no perf events here");
    }
    for (int i = 0; i < 10; i++) {
        uint64_t before = *wtm_perf_word(page);
        nanosleep(&(struct timespec){0, 100000}, NULL);
        cr_assert_neq(*wtm_perf_word(page), before, "sleep %d left no trace", i);
    }
    wtm_perf_close(page);
}

Test(cpu_perf, none_is_opened_where_it_may_not_be)
{
    int problem = 0;
    wtm_process.no_perf = 1;
    cr_assert_null(wtm_perf_open(&problem));
    cr_assert_lt(problem, 0);
    wtm_process.no_perf = 0;
    wtm_process.sandboxed = 1;
    cr_assert_null(wtm_perf_open(&problem));
}
