/* SPDX-License-Identifier: MIT
 * A thread's perf event. Runs in the target at a thread's first event: general registers only, no libc. */
#include "preload/cpu_perf.h"
#include "common/sys.h"
#include "preload/process.h"
#include <sys/mman.h>

enum { PAGE = 4096, EACCES_HERE = -13 };

static const struct perf_event_attr attr = {
    .type = PERF_TYPE_SOFTWARE,
    .config = PERF_COUNT_SW_DUMMY, /* counts nothing: only its being switched is of interest */
    .size = PERF_ATTR_SIZE_VER0,   /* what every kernel with perf events takes */
    .exclude_kernel = 1,           /* else more privilege is needed */
    .exclude_hv = 1,
};

struct perf_event_mmap_page *wtm_perf_open(int *problem)
{
    if (wtm_process.sandboxed || wtm_process.no_perf) {
        *problem = EACCES_HERE;
        return NULL;
    }
    long fd = wtm_syscall6(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
    if (wtm_sys_failed(fd)) {
        *problem = (int)fd;
        return NULL;
    }
    long at = wtm_sys_mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)fd, 0);
    wtm_sys_close((int)fd);
    if (wtm_sys_failed(at)) {
        *problem = (int)at;
        return NULL;
    }
    return (struct perf_event_mmap_page *)at;
}

void wtm_perf_close(struct perf_event_mmap_page *page)
{
    wtm_sys_munmap(page, PAGE);
}

int wtm_perf_time(const volatile struct perf_event_mmap_page *page, uint64_t ticks, uint64_t *ns)
{
    if (!page->cap_user_time || page->time_shift > 63)
        return 0;
    uint64_t mult = page->time_mult, shift = page->time_shift, cycles = ticks;
    if (page->cap_user_time_short) /* the counter is narrower than 64 bits */
        cycles = page->time_cycles + ((ticks - page->time_cycles) & page->time_mask);
    uint64_t whole = cycles >> shift, rest = cycles & (((uint64_t)1 << shift) - 1);
    uint64_t since = page->time_offset + whole * mult + (rest * mult >> shift);
    *ns = page->time_enabled + since;
    return 1;
}
