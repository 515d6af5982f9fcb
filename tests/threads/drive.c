/* SPDX-License-Identifier: MIT
 * Records, cells and the profile under ThreadSanitizer, driven from many threads: calls that nest and recur, calls that are left,
 * calls that begin in one thread and end in another, threads that end and begin, and resets, while a reader sums up the live
 * profile. What is driven are the library's own files, compiled with -fsanitize=thread; entry and exit code, which are assembly,
 * are written out here in C with the same loads and stores, in the same order.
 *
 * What ThreadSanitizer cannot see: the assembly itself, signal handlers between its instructions, and the reader, which stands
 * for another process and is compiled without it: cells have one writer and no atomics, and a reader copes with any mixture.
 * With "reset" counts are reset all the time, otherwise they must be exact. */
#include "common/summary.h"
#include "common/arena.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/cputime.h"
#include "preload/log.h"
#include "preload/profile.h"
#include "preload/records.h"
#include "preload/signals.h"
#include "preload/thread.h"
#include "patcher/patcher.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, FUNCTIONS = 5, FIBERS = 16, DEPTH = 4, ENTRY_TRIES = 16 };

/* Of the assembly only their addresses are asked for. */
const char wtm_entry[16], wtm_return_point[16], wtm_entry_clocked[16], wtm_return_clocked[16];
void wtm_log_parts(const char *const *parts) {}
int wtm_signals_parse(const char *text, int numbers[WTM_CONTROLS]) { return 0; }
void wtm_patch_forget(struct wtm_patch *const *patches, size_t count) {}

static struct wtm_probe probes[FUNCTIONS];
static uint64_t entered[FUNCTIONS]; /* what was driven */
static unsigned long rounds;
static int stop;

/* A fiber: calls that are open on a stack of its own, whoever runs it. */
static struct fiber {
    uint64_t stack[16384];
    pthread_mutex_t lock;
    int open;
} fibers[FIBERS];

/* The entry code. Gives 1 when the call is timed; then the slot holds the return point. */
static int enter(uint64_t *slot, unsigned function, uint64_t caller)
{
    enum wtm_entry_action action = WTM_ENTRY_RETRY;
    *slot = caller;
    __atomic_fetch_add(&entered[function], 1, __ATOMIC_RELAXED);
    for (int i = 0; action == WTM_ENTRY_RETRY && i < ENTRY_TRIES; i++)
        action = wtm_entry_slow(slot, &probes[function]);
    if (action == WTM_ENTRY_RETRY)
        abort();
    if (action != WTM_ENTRY_PUSHED)
        return 0;
    struct wtm_record *record = wtm_thread->top;
    uint64_t now = wtm_clock_ticks();
    record->start_low = (uint32_t)now;
    record->start_high = (uint32_t)(now >> 32);
    *slot = (uintptr_t)wtm_return_point;
    return 1;
}

/* The exit code: the return address comes back to its slot, then the record goes. */
static void leave(uint64_t *slot, uint64_t caller)
{
    struct wtm_record *record = wtm_close((uintptr_t)(slot + 1), wtm_clock_ticks());
    *slot = record->return_minus_1 + 1;
    if (*slot != caller)
        abort();
    record->sp = WTM_SP_NONE;
    wtm_thread->top = record - 1;
}

static __attribute__((noinline)) void nest(unsigned seed, int depth)
{
    uint64_t frame[8];
    uint64_t caller = 0x400000 + seed % 4096;
    int timed = enter(&frame[1], seed % FUNCTIONS, caller);
    if (depth)
        nest(seed * 7 + 3, depth - 1);
    if (timed && !(seed % 31 == 5 && depth == 1)) /* else left: the next event shows it */
        leave(&frame[1], caller);
    __asm__ volatile("" ::: "memory");
}

/* Begins or ends the calls of a fiber: three, one inside the other. */
static void run_fiber(struct fiber *fiber, unsigned seed)
{
    uint64_t *top = fiber->stack + 16000;
    if (pthread_mutex_trylock(&fiber->lock))
        return;
    for (unsigned i = 0; !fiber->open && i < 3; i++)
        if (!enter(top - 32 * i, (seed + i) % FUNCTIONS, 0x500000 + i))
            abort();
    for (unsigned i = 3; fiber->open && i--;)
        leave(top - 32 * i, 0x500000 + i);
    fiber->open = !fiber->open;
    pthread_mutex_unlock(&fiber->lock);
}

/* glibc hands stacks of threads that ended to new ones under a lock that ThreadSanitizer does not see; blocks go with them. */
int wtm_handover;
void __tsan_acquire(void *address);
void __tsan_release(void *address);

static void *drive(void *number)
{
    __tsan_acquire(&wtm_handover);
    unsigned seed = (unsigned)(uintptr_t)number * 2654435761u + 1;
    for (unsigned long i = 0; i < rounds; i++) {
        seed = seed * 1103515245 + 12345;
        nest(seed >> 8, (int)(seed >> 4) % DEPTH);
        run_fiber(&fibers[(seed >> 16) % FIBERS], seed >> 20);
    }
    nest(1, 0);
    __tsan_release(&wtm_handover);
    return NULL;
}

/* Threads end and begin: blocks change hands. */
static void *churn(void *number)
{
    for (int i = 0; i < 6; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, drive, (void *)((uintptr_t)number * 8 + (unsigned)i)) || pthread_join(thread, NULL))
            abort();
    }
    return NULL;
}

static void *keep_resetting(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t epoch = __atomic_add_fetch(&wtm_hot.epoch, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&wtm_profile_header()->epoch, epoch, __ATOMIC_SEQ_CST);
        wtm_generation_advance();
        for (volatile int i = 0; i < 20000; i++)
            ;
    }
    return NULL;
}

uint64_t read_counts(uint64_t *counts, size_t count); /* reader.c */

static void *keep_reading(void *unused)
{
    uint64_t counts[FUNCTIONS];
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        read_counts(counts, FUNCTIONS);
    return NULL;
}

static void describe(void)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        struct wtm_function_chunk *chunk = wtm_profile_chunk(sizeof *chunk + 32);
        if (!chunk)
            abort();
        chunk->index = i + 1;
        chunk->address = 0x1000 + i;
        chunk->offset = 0x1000 + i;
        chunk->size = i; /* by which the reader knows it */
        wtm_profile_publish(chunk, WTM_CHUNK_FUNCTION);
        probes[i] = (struct wtm_probe){.index = i + 1, .local_offset = (i + 1) * (uint32_t)sizeof(struct wtm_local)};
    }
}

int main(int count, char **words)
{
    pthread_t threads[THREADS], reader, resetter;
    int resets = count > 2 && !strcmp(words[2], "reset");
    rounds = count > 1 ? strtoul(words[1], NULL, 0) : 200;
    char note[128];
    if (wtm_profile_create(NULL))
        return 2;
    wtm_profile_header()->epoch = wtm_hot.epoch;
    wtm_profile_header()->clock = WTM_CLOCK_TSC;
    wtm_profile_header()->tick_hz_hint = 2000000000;
    wtm_profile_begin(wtm_profile_header());
    describe();
    wtm_clock_choose(-1);
    wtm_clock_find_rate(wtm_profile_header());
    wtm_cpu_choose(-1, note, sizeof note);
    wtm_thread_expect(FUNCTIONS + 1);
    wtm_generation_advance();
    wtm_process.ready = 1;
    for (int i = 0; i < FIBERS; i++)
        pthread_mutex_init(&fibers[i].lock, NULL);
    if (pthread_create(&reader, NULL, keep_reading, NULL) || (resets && pthread_create(&resetter, NULL, keep_resetting, NULL)))
        return 2;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, (void *)i))
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(reader, NULL);
    if (resets)
        pthread_join(resetter, NULL);
    uint64_t counts[FUNCTIONS];
    uint64_t stray = read_counts(counts, FUNCTIONS);
    for (unsigned i = 0; i < FUNCTIONS && !resets; i++)
        if (counts[i] != entered[i]) {
            printf("function %u: %lu calls counted, %lu made\n", i, (unsigned long)counts[i], (unsigned long)entered[i]);
            return 1;
        }
    printf("%s, %lu stray\n", resets ? "resets" : "exact", (unsigned long)stray);
    return 0;
}
