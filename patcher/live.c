/* SPDX-License-Identifier: MIT
 * The protocols.
 *
 * Prepared for code that runs (there is an int3 among the new bytes wherever a thread can stand): one store, if they lie in
 * one cache line. Each core then runs the old or the new ones (Chamith and others: Living on the edge, PLDI 2016). A
 * thread that stood inside traps when it goes on, and the caller's SIGTRAP handler sends it to the relocated copy by
 * wtm_patch_trap(). Nobody who comes to the first byte ever traps. Across two lines: an int3 over the first byte and at the
 * inner places; the other bytes; the first byte; all cores are made to see each step (membarrier SYNC_CORE).
 *
 * Others, for all entries of one call together:
 *   1. int3 over each first byte. Whoever comes now traps. No thread can get inside the bytes any more.
 *   2. the caller says in which of them a thread stands already; these get their first byte back.
 *   3. the bytes behind the first. 4. the first byte.
 * Without help: one store, for bytes that are one instruction now; the rest is busy. */
#include "patcher/live.h"
#include "patcher/memory.h"
#include "patcher/patcher.h"
#include "patcher/poke.h"
#include "common/sys.h"
#include <errno.h>

enum { /* linux/membarrier.h */
    MEMBARRIER_SYNC_CORE = 1 << 5,
    MEMBARRIER_REGISTER_SYNC_CORE = 1 << 6
};

static const uint8_t int3 = 0xcc;
static struct wtm_patch_live live;

/* Traps of ours, newest first; only added to. A signal handler reads it at any time: `next` is set before the head is,
 * pairs with the acquire in wtm_patch_trap(). */
struct trap {
    struct trap *next;
    uintptr_t at, resume;
};
static struct trap *traps;
static struct wtm_pool trap_pool;

void wtm_patch_set_live(const struct wtm_patch_live *callbacks)
{
    live = callbacks ? *callbacks : (struct wtm_patch_live){0};
}

uintptr_t wtm_patch_trap(uintptr_t ip)
{
    for (const struct trap *trap = __atomic_load_n(&traps, __ATOMIC_ACQUIRE); trap; trap = trap->next)
        if (__atomic_load_n(&trap->at, __ATOMIC_ACQUIRE) == ip)
            return __atomic_load_n(&trap->resume, __ATOMIC_ACQUIRE);
    return 0;
}

void wtm_live_forget(uintptr_t at)
{
    for (struct trap *trap = traps; trap; trap = trap->next)
        if (trap->at == at)
            __atomic_store_n(&trap->at, 0, __ATOMIC_RELEASE);
}

static int note_trap(uintptr_t at, uintptr_t resume)
{
    struct trap *unused = NULL;
    for (struct trap *trap = traps; trap; trap = trap->next) {
        if (trap->at == at) {
            __atomic_store_n(&trap->resume, resume, __ATOMIC_RELEASE);
            return 0;
        }
        unused = trap->at ? unused : trap;
    }
    if (unused) {
        __atomic_store_n(&unused->resume, resume, __ATOMIC_RELEASE);
        __atomic_store_n(&unused->at, at, __ATOMIC_RELEASE);
        return 0;
    }
    struct trap *trap = wtm_pool_take(&trap_pool, sizeof *trap);
    if (!trap)
        return -ENOMEM;
    *trap = (struct trap){traps, at, resume};
    __atomic_store_n(&traps, trap, __ATOMIC_RELEASE);
    return 0;
}

static int sync_cores(void)
{
    return (int)wtm_syscall3(SYS_membarrier, MEMBARRIER_SYNC_CORE, 0, 0);
}

static int can_trap(void)
{
    return (live.traps || live.stand_clear) && wtm_syscall3(SYS_membarrier, MEMBARRIER_REGISTER_SYNC_CORE, 0, 0) == 0;
}

/* Nobody stands inside, or whoever does finds a trap. */
static int can_be_one_store(const struct wtm_live_write *write)
{
    return (write->one_instruction || (write->inner && (live.traps || !write->inner_count))) &&
           wtm_text_is_one_store(write->at, write->count);
}

static void write_single(struct wtm_live_write *write)
{
    for (unsigned i = 0; i < write->inner_count && write->inner; i++)
        write->busy |= note_trap(write->inner[i].at, write->inner[i].resume) < 0;
    if (!write->busy)
        wtm_text_write(write->at, write->bytes, write->count);
}

static int ask_caller(struct wtm_live_write *const *writes, size_t count)
{
    size_t bytes = count * (sizeof(struct wtm_code_range) + 1);
    struct wtm_code_range *ranges = wtm_pages_take(bytes);
    if (!ranges)
        return -ENOMEM;
    uint8_t *busy = (uint8_t *)(ranges + count);
    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct wtm_code_range){writes[i]->at + 1, writes[i]->at + writes[i]->count};
    int result = live.stand_clear ? live.stand_clear(live.context, ranges, busy, count) : -ENOSYS;
    for (size_t i = 0; i < count; i++)
        if ((result < 0 || busy[i]) && !writes[i]->inner)
            writes[i]->busy = 1;
    wtm_pages_give(ranges, bytes);
    return 0;
}

/* The traps first, then the bytes: a trap without an entry ends the program. */
static void note_traps(struct wtm_live_write *write)
{
    write->busy = note_trap(write->at, write->resume) < 0;
    for (unsigned i = 0; i < write->inner_count && write->inner; i++)
        write->busy |= note_trap(write->inner[i].at, write->inner[i].resume) < 0;
    if (write->busy)
        return;
    wtm_text_write(write->at, &int3, 1);
    for (unsigned i = 0; i < write->inner_count && write->inner; i++)
        wtm_text_write(write->inner[i].at, &int3, 1);
}

static int write_in_steps(struct wtm_live_write *const *writes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note_traps(writes[i]);
    int result = sync_cores();
    if (result == 0)
        result = ask_caller(writes, count);
    for (size_t i = 0; i < count; i++) {
        struct wtm_live_write *write = writes[i];
        write->busy |= result < 0 && !write->inner;
        if (write->busy)
            wtm_text_write(write->at, &write->first, 1);
        else if (write->count > 1)
            wtm_text_write(write->at + 1, write->bytes + 1, write->count - 1);
    }
    sync_cores();
    for (size_t i = 0; i < count; i++)
        if (!writes[i]->busy)
            wtm_text_write(writes[i]->at, writes[i]->bytes, 1);
    sync_cores();
    return result < 0 ? result : 0;
}

int wtm_live_write(struct wtm_live_write *writes, size_t count)
{
    int trapping = can_trap(), result = 0;
    size_t bytes = count * sizeof(struct wtm_live_write *), left = 0;
    struct wtm_live_write **in_steps = wtm_pages_take(bytes);
    for (size_t i = 0; i < count; i++) {
        writes[i].busy = 0;
        if (can_be_one_store(&writes[i]))
            write_single(&writes[i]);
        else if (trapping && in_steps)
            in_steps[left++] = &writes[i];
        else
            writes[i].busy = 1;
    }
    if (left)
        result = write_in_steps(in_steps, left);
    if (in_steps)
        wtm_pages_give(in_steps, bytes);
    return result;
}
