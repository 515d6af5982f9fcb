/* SPDX-License-Identifier: MIT
 * Who has which block. General registers only, no libc, no locks. */
#include "preload/reuse.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/process.h"
#include "preload/records.h"
#include <string.h>
#include <sys/prctl.h>

/* The owner's word: a thread id below, a number that goes up with each change of hands above. So whoever saw a thread id, and
 * found that thread gone, cannot take the block from somebody who came in between. */
enum {
    IN_TRANSIT = 0,
    FREE = INT32_MAX,        /* known to have ended */
    UNKNOWN = INT32_MAX - 1, /* it may not be asked for its id */
};

/* Names that differ beyond this many free blocks share one: a program may give each thread a name of its own. */
enum { MOST_FREE = 64, CHECKS = 4 };

static uint32_t turn; /* which blocks are looked at next; any value does */

static uint32_t owner_of(uint64_t word)
{
    return (uint32_t)word;
}

static int claim_block(struct wtm_thread *thread, uint64_t seen)
{
    uint64_t claimed = ((seen >> 32) + 1) << 32 | IN_TRANSIT;
    return owner_of(seen) != IN_TRANSIT &&
           __atomic_compare_exchange_n(&thread->owner, &seen, claimed, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void hand_to(struct wtm_thread *thread, uint32_t tid)
{
    uint64_t word = __atomic_load_n(&thread->owner, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->owner, (word >> 32) << 32 | tid, __ATOMIC_RELEASE);
}

void wtm_reuse_own(struct wtm_thread *thread, uint32_t tid)
{
    hand_to(thread, tid ? tid : UNKNOWN);
}

static int is_gone(uint32_t tid)
{
    return !wtm_process.sandboxed && tid != UNKNOWN && wtm_syscall3(SYS_tgkill, wtm_process.pid, tid, 0) == -3 /* ESRCH */;
}

/* For a test with the thread sanitizer, which cannot see that the kernel ordered the owner's end before its absence. */
#ifndef WTM_OWNER_ENDED
#define WTM_OWNER_ENDED() ((void)0)
#endif

/* The owner is gone, and the block is ours. */
static void clean_block(struct wtm_thread *thread)
{
    WTM_OWNER_ENDED();
    if (thread->epoch != wtm_hot.epoch)
        wtm_cells_reset(thread);
    wtm_records_abandon(thread);
    thread->busy = 0;
    thread->ended = 1;
    if (thread->shared)
        thread->shared->ended = 1;
}

static void set_free(struct wtm_thread *thread)
{
    __atomic_store_n(&thread->fs_base, 0, __ATOMIC_RELAXED);
    hand_to(thread, FREE);
}

/* "worker-*" stands for all names that begin so. */
static int fits(const char *pattern, const char *name)
{
    size_t length = strnlen(pattern, WTM_NAME_BYTES);
    if (length && pattern[length - 1] == '*')
        return !strncmp(pattern, name, length - 1);
    return !strncmp(pattern, name, WTM_NAME_BYTES);
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t length = 0;
    while (length < WTM_NAME_BYTES - 2 && a[length] && a[length] == b[length] && a[length] != '*')
        length++;
    return length;
}

/* What both have in common, and a star; nothing when they fit already. */
static void merge_names(char *pattern, const char *name)
{
    if (fits(pattern, name))
        return;
    size_t length = common_prefix(pattern, name);
    pattern[length] = '*';
    memset(pattern + length + 1, 0, WTM_NAME_BYTES - length - 1);
}

void wtm_name_own(char name[WTM_NAME_BYTES])
{
    memset(name, 0, WTM_NAME_BYTES);
    if (wtm_process.sandboxed || wtm_process.nameless || wtm_sys_failed(wtm_syscall3(SYS_prctl, PR_GET_NAME, (long)name, 0)))
        name[0] = 0;
    name[WTM_NAME_BYTES - 1] = 0;
}

/* Of a block that had other owners the counts are theirs as well. */
void wtm_name_set(struct wtm_thread *thread, const char *name)
{
    if (!thread->shared || !*name || fits(thread->shared->name, name))
        return;
    if (thread->owners > 1 && *thread->shared->name)
        merge_names(thread->shared->name, name);
    else
        memcpy(thread->shared->name, name, WTM_NAME_BYTES);
}

struct choice {
    struct wtm_thread *fitting, *nearest;
    uint64_t fitting_owner, nearest_owner; /* as seen */
    size_t prefix;
    uint32_t free;
};

static void weigh_block(struct choice *choice, struct wtm_thread *thread, uint64_t owner, const char *name)
{
    choice->free++;
    if (fits(thread->born, name)) {
        choice->fitting = thread;
        choice->fitting_owner = owner;
    }
    size_t prefix = common_prefix(thread->born, name);
    if (!choice->nearest || prefix > choice->prefix) {
        choice->nearest = thread;
        choice->nearest_owner = owner;
        choice->prefix = prefix;
    }
}

/* A block with calls open on other stacks waits for the coroutines that may end them. */
static struct wtm_thread *take_over(struct wtm_thread *thread, uint64_t seen)
{
    if (!thread || !claim_block(thread, seen))
        return NULL;
    clean_block(thread);
    if (!wtm_records_open(thread))
        return thread;
    set_free(thread);
    return NULL;
}

struct wtm_thread *wtm_reuse_block(uint64_t fs_base, const char *name)
{
    struct choice choice = {0};
    uint32_t number = 0, from = __atomic_fetch_add(&turn, CHECKS, __ATOMIC_RELAXED), count = 0;
    for (struct wtm_thread *t = __atomic_load_n(&wtm_threads, __ATOMIC_ACQUIRE); t; t = t->next)
        count++;
    for (struct wtm_thread *t = __atomic_load_n(&wtm_threads, __ATOMIC_ACQUIRE); t; t = t->next, number++) {
        uint64_t owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);
        if (owner_of(owner) == IN_TRANSIT || !t->shared)
            continue;
        if (__atomic_load_n(&t->fs_base, __ATOMIC_RELAXED) == fs_base) { /* unique among living threads */
            if (!claim_block(t, owner))
                continue;
            clean_block(t);
            if (fits(t->born, name))
                return t;
            set_free(t);
            owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);
        }
        if (owner_of(owner) == FREE || (count && (number - from % count + count) % count < CHECKS && is_gone(owner_of(owner))))
            weigh_block(&choice, t, owner, name);
    }
    struct wtm_thread *found = take_over(choice.fitting, choice.fitting_owner);
    if (found || choice.free < MOST_FREE)
        return found;
    found = take_over(choice.nearest, choice.nearest_owner);
    if (found) {
        merge_names(found->born, name);
        merge_names(found->shared->name, name);
    }
    return found;
}

int wtm_reuse_bury(struct wtm_thread *thread)
{
    uint64_t owner = __atomic_load_n(&thread->owner, __ATOMIC_ACQUIRE);
    if (!thread->shared || owner_of(owner) == FREE || !is_gone(owner_of(owner)) || !claim_block(thread, owner))
        return 0;
    clean_block(thread);
    set_free(thread);
    return 1;
}
