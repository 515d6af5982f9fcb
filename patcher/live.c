/* SPDX-License-Identifier: MIT
 * The protocol, for all entries of one call together:
 *   1. int3 over each first byte; every core is made to see it (membarrier SYNC_CORE). Whoever comes now traps, and
 *      the caller's SIGTRAP handler sends it on by wtm_patch_trap(), to the relocated copy. No thread can get inside the
 *      bytes any more.
 *   2. the caller says in which of them a thread stands already; these get their first byte back.
 *   3. the bytes behind the first; all cores see them. 4. the first byte; all cores see it.
 * Without a trap handler, or without membarrier: one aligned 8-byte store, for bytes that are one instruction now. Each
 * core then runs the old or the new one (Chamith and others: Living on the edge, PLDI 2016); the rest is busy. */
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
    return live.stand_clear && wtm_syscall3(SYS_membarrier, MEMBARRIER_REGISTER_SYNC_CORE, 0, 0) == 0;
}

static void write_single(struct wtm_live_write *write)
{
    write->busy = !write->one_instruction || !wtm_text_is_one_word(write->at, write->count);
    if (!write->busy)
        wtm_text_write(write->at, write->bytes, write->count);
}

static int ask_caller(struct wtm_live_write *writes, size_t count)
{
    size_t bytes = count * (sizeof(struct wtm_code_range) + 1);
    struct wtm_code_range *ranges = wtm_pages_take(bytes);
    if (!ranges)
        return -ENOMEM;
    uint8_t *busy = (uint8_t *)(ranges + count);
    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct wtm_code_range){writes[i].at + 1, writes[i].at + writes[i].count};
    int result = live.stand_clear(live.context, ranges, busy, count);
    for (size_t i = 0; i < count; i++)
        if (result < 0 || busy[i])
            writes[i].busy = 1;
    wtm_pages_give(ranges, bytes);
    return result;
}

int wtm_live_write(struct wtm_live_write *writes, size_t count)
{
    if (!can_trap()) {
        for (size_t i = 0; i < count; i++)
            write_single(&writes[i]);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        writes[i].busy = note_trap(writes[i].at, writes[i].resume) < 0;
    for (size_t i = 0; i < count; i++)
        if (!writes[i].busy)
            wtm_text_write(writes[i].at, &int3, 1);
    int result = sync_cores();
    if (result == 0)
        result = ask_caller(writes, count);
    for (size_t i = 0; i < count; i++) {
        writes[i].busy |= result < 0;
        if (writes[i].busy)
            wtm_text_write(writes[i].at, &writes[i].first, 1);
        else if (writes[i].count > 1)
            wtm_text_write(writes[i].at + 1, writes[i].bytes + 1, writes[i].count - 1);
    }
    sync_cores();
    for (size_t i = 0; i < count; i++)
        if (!writes[i].busy)
            wtm_text_write(writes[i].at, writes[i].bytes, 1);
    sync_cores();
    return result < 0 ? result : 0;
}
