/* SPDX-License-Identifier: MIT
 * Samples, disturbances, time to be taken out. Runs in the target inside timed calls: general registers only, no libc. */
#include "preload/special.h"
#include "common/sys.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/cpu_rseq.h"
#include "preload/cputime.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/records.h"
#include <sys/mman.h>
#include <sys/resource.h>

uint32_t wtm_special_samples;

/* What was done since `begin` was measuring; a wait in it, which shows in the switch word or by its length, was not. */
static uint64_t own_ticks(const struct wtm_thread *thread, uint64_t begin)
{
    uint64_t took = wtm_clock_ticks() - begin, most = (uint64_t)wtm_cpu_noise_ticks() * 2;
    int waited = wtm_cpu_is_cheap(thread) ? *thread->switch_word != thread->switch_expected : took / 16 > most;
    return waited && most && took > most ? most : took;
}

/* What the kernel has counted for the thread so far; one beside each open call's record. */
struct wtm_counts {
    uint64_t minor, major, waits, preemptions;
    uint32_t cpu, valid;
};

static void read_counts(const struct wtm_thread *thread, struct wtm_counts *counts)
{
    struct rusage usage;
    counts->valid = 0;
    if (wtm_process.sandboxed || wtm_process.no_usage || wtm_sys_failed(wtm_syscall3(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0)))
        return;
    counts->minor = (uint64_t)usage.ru_minflt - thread->own_faults;
    counts->major = (uint64_t)usage.ru_majflt;
    counts->waits = (uint64_t)usage.ru_nvcsw;
    counts->preemptions = (uint64_t)usage.ru_nivcsw;
    counts->cpu = wtm_rseq_registered() ? wtm_rseq_cpu() : 0;
    counts->valid = 1;
}

static struct wtm_counts *counts_of(struct wtm_thread *thread, const struct wtm_record *record)
{
    return thread->counts ? thread->counts + (record - thread->base) : NULL;
}

/* Where the call is going to be counted is made and touched first: these page faults are not the program's. */
static void make_room(struct wtm_thread *thread, struct wtm_cell *cell)
{
    enum { PAGE = 4096 };
    struct wtm_counts before, after;
    read_counts(thread, &before);
    const struct wtm_noise *noise = wtm_cell_noise(thread, cell);
    const struct wtm_switched *switched = wtm_cell_switched(thread, cell);
    const struct wtm_chunk *chunks[] = {&cell->chunk, noise ? &noise->chunk : NULL, switched ? &switched->chunk : NULL};
    for (unsigned i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        volatile char *byte = (volatile char *)chunks[i];
        for (uint64_t at = 0; byte && at < chunks[i]->bytes; at += PAGE)
            byte[at] = byte[at]; /* its one writer is this thread */
    }
    read_counts(thread, &after);
    if (before.valid && after.valid)
        thread->own_faults += after.minor - before.minor;
}

static void begin_counts(struct wtm_thread *thread, const struct wtm_record *record)
{
    if (!thread->counts && !wtm_process.sandboxed) {
        size_t bytes = (size_t)(thread->limit - thread->base) * sizeof(struct wtm_counts);
        long at = wtm_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        thread->counts = wtm_sys_failed(at) ? NULL : (struct wtm_counts *)at;
    }
    struct wtm_counts *counts = counts_of(thread, record);
    if (!counts)
        return;
    counts->valid = 0; /* a page fault of ours, before the counting */
    if (!record->local->cell->noise)
        make_room(thread, record->local->cell);
    read_counts(thread, counts);
}

/* Before anything else is done about the call's end. What was there becomes what the call brought. */
void wtm_special_end(struct wtm_thread *thread, const struct wtm_record *record)
{
    struct wtm_counts *counts = record->local->special & WTM_SPECIAL_COUNTED ? counts_of(thread, record) : NULL, now;
    if (!counts || !counts->valid)
        return;
    uint64_t begin = wtm_clock_ticks();
    read_counts(thread, &now);
    counts->minor = now.minor - counts->minor;
    counts->major = now.major - counts->major;
    counts->waits = now.waits - counts->waits;
    counts->preemptions = now.preemptions - counts->preemptions;
    counts->cpu = now.cpu != counts->cpu;
    counts->valid = now.valid;
    thread->spent_ticks += own_ticks(thread, begin);
}

static void add_counts(struct wtm_thread *thread, const struct wtm_record *record)
{
    const struct wtm_counts *counts = counts_of(thread, record);
    struct wtm_noise *noise = counts && counts->valid ? wtm_cell_noise(thread, record->local->cell) : NULL;
    if (!noise)
        return;
    noise->counted++;
    noise->minor_faults += counts->minor;
    noise->major_faults += counts->major;
    noise->waits += counts->waits;
    noise->preemptions += counts->preemptions;
    noise->migrated += counts->cpu;
}

void wtm_special_moved(struct wtm_thread *thread, const struct wtm_record *to, const struct wtm_record *from)
{
    if (thread->counts && from >= thread->base && from < thread->limit)
        thread->counts[to - thread->base] = thread->counts[from - thread->base];
}

/* The function's chunk, made by whichever thread comes first. */
static struct wtm_samples *samples_of(struct wtm_probe *probe)
{
    struct wtm_samples *samples = __atomic_load_n(&probe->samples, __ATOMIC_ACQUIRE), *none = NULL;
    if (samples)
        return samples;
    samples = wtm_profile_chunk(sizeof *samples + wtm_special_samples * sizeof *samples->of);
    if (!samples)
        return NULL;
    samples->function = probe->index;
    samples->capacity = wtm_special_samples;
    if (!__atomic_compare_exchange_n(&probe->samples, &none, samples, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        wtm_profile_publish(samples, WTM_CHUNK_UNUSED); /* another thread was faster */
        return none;
    }
    wtm_profile_publish(samples, WTM_CHUNK_SAMPLES);
    return samples;
}

static void begin_sample(struct wtm_probe *probe, struct wtm_cell *cell)
{
    struct wtm_samples *samples = samples_of(probe);
    if (samples && __atomic_load_n(&samples->taken, __ATOMIC_RELAXED) < samples->capacity)
        cell->samples = wtm_profile_offset(samples);
    else
        __atomic_fetch_and(&probe->special, ~(uint32_t)WTM_SPECIAL_SAMPLED, __ATOMIC_RELAXED);
}

/* The thread comes last: an observation without one is not complete. */
static void add_sample(const struct wtm_thread *thread, const struct wtm_cell *cell, int64_t real, int64_t run, int known)
{
    struct wtm_samples *samples = cell->samples ? wtm_profile_at(cell->samples) : NULL;
    if (!samples || __atomic_load_n(&samples->taken, __ATOMIC_RELAXED) >= samples->capacity)
        return;
    uint64_t at = __atomic_fetch_add(&samples->taken, 1, __ATOMIC_RELAXED);
    if (at >= samples->capacity)
        return;
    struct wtm_sample *sample = &samples->of[at];
    __atomic_store_n(&sample->thread, 0, __ATOMIC_RELAXED); /* one of before a reset may be here */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sample->real = real;
    sample->run = known ? run : WTM_SAMPLE_NO_RUNTIME;
    sample->epoch = (uint32_t)thread->epoch;
    __atomic_store_n(&sample->thread, thread->index, __ATOMIC_RELEASE);
}

/* All open calls of the thread had this one inside. What it ran is taken out like the cost of measuring, what it waited as if
 * the wait had not been: their runtime is then less its runtime, their realtime less its realtime. */
static void take_out(struct wtm_thread *thread, struct wtm_record *record, int64_t real, int64_t run, int known)
{
    struct wtm_record *caller = record - 1;
    if (caller->sp - record->sp >= WTM_SAME_STACK_BYTES) /* as the closing looks for it */
        caller = wtm_records_caller(thread, record);
    if (caller->local)
        caller->child_ticks -= real; /* the closing is about to add it, but it is in none of the caller's ticks */
    int64_t waited = known ? real - run : 0;
    thread->hidden_wait += waited;
    thread->cpu_offset += waited;
    thread->spent_ticks += (uint64_t)real;
}

static void tell_outer(struct wtm_thread *thread, const struct wtm_record *record, int64_t real, uint32_t special)
{
    for (const struct wtm_record *r = record - 1; r > thread->base; r--) {
        if (!r->local || r->sp <= WTM_SP_ADOPTED || !r->local->cell)
            continue;
        struct wtm_noise *noise = wtm_cell_noise(thread, r->local->cell);
        if (noise && special & WTM_SPECIAL_SUBTRACT) {
            noise->taken_out++;
            noise->taken_out_ticks += real;
        }
        if (noise && special & WTM_SPECIAL_HANDLER) {
            noise->handlers++;
            noise->handler_ticks += real;
        }
    }
}

void wtm_special_open(struct wtm_thread *thread, struct wtm_probe *probe, uint64_t begin, uint64_t counted)
{
    uint64_t spent = thread->spent_ticks;
    struct wtm_record *record = thread->top;
    struct wtm_local *local = record->local;
    uint32_t special = __atomic_load_n(&probe->special, __ATOMIC_RELAXED);
    if (special & WTM_SPECIAL_SAMPLED)
        begin_sample(probe, local->cell);
    if (special & WTM_SPECIAL_COUNTED)
        begin_counts(thread, record);
    local->special = special;
    if (*thread->switch_word != thread->switch_expected && (wtm_cpu_is_cheap(thread) || special & WTM_SPECIAL_COUNTED))
        wtm_cpu_renew(thread); /* it waited in here, before the call */
    record->cpu_offset = thread->cpu_offset ^ WTM_SPECIAL_MARK;
    uint64_t took = own_ticks(thread, begin);
    counted += thread->spent_ticks - spent;
    thread->spent_ticks += took > counted ? took - counted : 0;
    record->spent_ticks = thread->spent_ticks; /* all of it was before its start */
}

void wtm_special_close(struct wtm_thread *thread, struct wtm_record *record, int64_t real, int64_t run, int known)
{
    uint64_t begin = wtm_clock_ticks();
    const struct wtm_local *local = record->local;
    uint32_t special = local->special;
    if (special & WTM_SPECIAL_COUNTED)
        add_counts(thread, record);
    if (special & WTM_SPECIAL_SAMPLED)
        add_sample(thread, local->cell, real, run, known);
    if (special & (WTM_SPECIAL_SUBTRACT | WTM_SPECIAL_HANDLER))
        tell_outer(thread, record, real, special);
    if (special & WTM_SPECIAL_SUBTRACT)
        take_out(thread, record, real, run, known);
    thread->spent_ticks += own_ticks(thread, begin);
}
