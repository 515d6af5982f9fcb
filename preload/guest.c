/* SPDX-License-Identifier: MIT
 * Tasks that share a thread's pointer, and so its block: children of clone() with CLONE_VM and without CLONE_SETTLS, which run
 * beside the thread that made them. The block stays its owner's, who takes the slow path at each event from then on; the
 * others are told apart by their thread ids, have blocks of their own, and their calls are counted but not timed. General
 * registers only, no libc. */
#include "preload/guest.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/reuse.h"
#include "preload/thread.h"
#include <string.h>

enum { NO_SUCH_PROCESS = -3, NO_GENERATION = 1 };

static uint32_t own_tid(void)
{
    return (uint32_t)wtm_syscall3(SYS_gettid, 0, 0, 0);
}

void wtm_guest_expect(void)
{
    static uint32_t told;
    struct wtm_thread *thread = wtm_thread_sync();
    if (!thread || wtm_process.sandboxed)
        return;
    thread->has_guests = 1;
    thread->generation = NO_GENERATION;
    if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        wtm_profile_note("a thread shares its thread pointer with a child that it made by clone(): the child's calls are counted, "
                         "not timed, and the thread's own take longer");
}

/* The block of a guest that is gone, or a new one. */
static struct wtm_thread *make(uint32_t tid)
{
    char name[WTM_NAME_BYTES];
    for (struct wtm_thread *t = __atomic_load_n(&wtm_threads, __ATOMIC_ACQUIRE); t; t = t->next) {
        uint32_t before = __atomic_load_n(&t->guest, __ATOMIC_ACQUIRE);
        if (before && wtm_syscall3(SYS_tgkill, before, before, 0) == NO_SUCH_PROCESS &&
            __atomic_compare_exchange_n(&t->guest, &before, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return t;
    }
    struct wtm_thread *thread = wtm_thread_make();
    if (!thread)
        return NULL;
    wtm_name_own(name);
    memcpy(thread->born, name, sizeof name);
    wtm_reuse_own(thread, 0); /* for nobody else */
    if (wtm_profile_thread(thread))
        return NULL;
    thread->shared->tid = tid;
    __atomic_store_n(&thread->guest, tid, __ATOMIC_RELEASE);
    wtm_thread_publish(thread);
    return thread;
}

static struct wtm_thread *find(uint32_t tid)
{
    for (struct wtm_thread *t = __atomic_load_n(&wtm_threads, __ATOMIC_ACQUIRE); t; t = t->next)
        if (__atomic_load_n(&t->guest, __ATOMIC_ACQUIRE) == tid)
            return t;
    return make(tid);
}

int wtm_guest_count(const struct wtm_thread *owner, const struct wtm_probe *probe)
{
    uint32_t tid = wtm_process.sandboxed ? 0 : own_tid();
    if (tid == owner->tid)
        return 0;
    struct wtm_thread *guest = tid ? find(tid) : NULL;
    struct wtm_local *local = guest && probe->index < guest->local_capacity
                                  ? (struct wtm_local *)((char *)guest->locals + probe->local_offset) : NULL;
    if (guest && guest->epoch != wtm_hot.epoch)
        wtm_cells_reset(guest);
    if (!local || (!local->cell && wtm_cell_create(guest, probe, local))) {
        wtm_profile_lost_call();
        return 1;
    }
    wtm_cell_count_untimed(local->cell);
    return 1;
}
