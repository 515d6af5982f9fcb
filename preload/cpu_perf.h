/* SPDX-License-Identifier: MIT
 * The page that a software perf event of a thread maps. Its `lock` counts up whenever the thread is switched out or in, also
 * where the kernel does not give the time there (cap_user_time 0: virtual machines); where it does, the thread's CPU time
 * can be had without a system call. The mapping outlives the descriptor, which is closed at once. Needs
 * perf_event_paranoid <= 2, one locked page a thread, and is not inherited by a child of fork (the page is gone there).
 * General registers only. */
#ifndef WTM_PRELOAD_CPU_PERF_H
#define WTM_PRELOAD_CPU_PERF_H

#include <linux/perf_event.h>
#include "preload/hot.h"

/* The calling thread's page, or NULL with the negative errno in *problem. Makes system calls. */
struct perf_event_mmap_page *wtm_perf_open(int *problem) WTM_HIDDEN;
void wtm_perf_close(struct perf_event_mmap_page *page) WTM_HIDDEN;

/* `lock` and, beside it, `index`, which is 0 for software events: one aligned word that changes at each switch. */
static inline const volatile uint64_t *wtm_perf_word(const struct perf_event_mmap_page *page)
{
    return (const volatile uint64_t *)&page->lock;
}
_Static_assert(offsetof(struct perf_event_mmap_page, lock) % 8 == 0 &&
                   offsetof(struct perf_event_mmap_page, index) == offsetof(struct perf_event_mmap_page, lock) + 4,
               "lock and index are one word");

/* The time in ns for which the event's thread has run, at the TSC value `ticks` read just now, by the formula of
 * linux/perf_event.h. 1, or 0 when the page does not tell it. `ticks` must have been read between two equal values of the
 * word of wtm_perf_word(). Pure but for the page. */
int wtm_perf_time(const volatile struct perf_event_mmap_page *page, uint64_t ticks, uint64_t *ns) WTM_HIDDEN;

#endif
