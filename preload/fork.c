/* SPDX-License-Identifier: MIT
 * A child of fork (also a raw clone without CLONE_VM) at its first event: the generation page was wiped. Runs inside a
 * timed call: general registers only, no libc. Until then the child has not touched the parent's profile, but for the
 * word that interrupted hot code may have been about to add to. */
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/config.h"
#include "preload/probes.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/thread.h"
#include <string.h>
#include <time.h>

void wtm_profile_begin(struct wtm_profile_header *header)
{
    header->pid = wtm_process.pid;
    header->parent_pid = wtm_process.parent;
    header->forked = wtm_process.forked;
    header->run = wtm_process.run;
    memcpy(header->host, wtm_process.host, sizeof header->host);
    header->start_realtime_ns = wtm_clock_ns(CLOCK_REALTIME);
    header->start_monotonic_ns = wtm_clock_ns(CLOCK_MONOTONIC);
    static struct wtm_clock_pair tries[WTM_CLOCK_PAIR_TRIES]; /* a child's first event may be on a coroutine's stack */
    header->first = header->last = wtm_clock_pair_in(tries);
}

/* The count went on in the parent; here any value that no thread has seen will do. */
static void go_on(void)
{
    __atomic_store_n(&wtm_generation.value, wtm_process.generation + 2, __ATOMIC_RELEASE);
    wtm_process.generation += 2;
}

void wtm_process_forked(void)
{
    static char path[WTM_PATH_BYTES]; /* not on the program's stack; a child begins with one thread */
    wtm_process.forked = 1;
    if (wtm_process.sandboxed) {
        wtm_profile_none();
        go_on();
        return;
    }
    wtm_process.parent = wtm_process.pid;
    wtm_process.pid = (uint32_t)wtm_syscall3(SYS_getpid, 0, 0, 0);
    wtm_process.gates_asked = wtm_process.table_owner = wtm_process.installer = 0; /* other threads are not here to finish */
    wtm_probes_forked();
    const char *out = wtm_settings.out;
    if (out && wtm_config_path(path, sizeof path, out, 1))
        out = NULL;
    if (wtm_profile_recreate(out ? path : NULL) != -12)
        wtm_profile_begin(wtm_profile_header());
    go_on();
}
