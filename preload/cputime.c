/* SPDX-License-Identifier: MIT
 * CPU time by the TSC and a word that tells of switches. Renewals run inside timed calls: general registers only. */
#include "preload/cputime.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/process.h"
#include "preload/reuse.h"
#include <string.h>
#include <sys/rseq.h>
#include <time.h>

/* The kernel reads this descriptor at each switch while its address stands in rseq_cs, finds that the thread is not
 * inside [start_ip, start_ip + post_commit_offset) and clears rseq_cs: exactly the sign that we want. The range is one
 * byte of padding that never runs. abort_ip must lie outside of it and be preceded by the signature that glibc
 * registered, else the kernel would take it for an attack, though it is never jumped to. */
extern const char wtm_rseq_range[] WTM_HIDDEN, wtm_rseq_abort[] WTM_HIDDEN;
__asm__(".text\n\t.balign 16\n\t.long 0x53053053\n"
        ".hidden wtm_rseq_abort\n.globl wtm_rseq_abort\nwtm_rseq_abort:\n\tud2\n"
        ".hidden wtm_rseq_range\n.globl wtm_rseq_range\nwtm_rseq_range:\n\tnop\n\tnop\n");

static struct rseq_cs descriptor __attribute__((aligned(32)));
static enum wtm_cpu_source source = WTM_CPU_OFF;
static uint64_t always_the_same;

static struct rseq *rseq_area(void)
{
    char *pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return (struct rseq *)(pointer + __rseq_offset);
}

int wtm_cpu_is_cheap(void)
{
    return source != WTM_CPU_GETTIME;
}

static void arm(struct wtm_thread *thread)
{
    *(volatile uint64_t *)thread->rseq_cs = (uintptr_t)&descriptor;
}

/* What a reading costs when nothing comes between; longer ones were interrupted. */
static uint64_t shortest_ticks = UINT64_MAX;

/* One reading. Gives its duration if the thread ran throughout, else 0: the wait was not our doing and stays in. */
static uint64_t read_pair(struct wtm_thread *thread)
{
    uint64_t begin = wtm_clock_ticks();
    if (source == WTM_CPU_RSEQ)
        arm(thread); /* first, so that a switch during the reading is noticed */
    uint64_t before = wtm_clock_ticks();
    uint64_t cpu_ns = wtm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t after = wtm_clock_ticks();
    thread->cpu_offset = (int64_t)(wtm_convert(wtm_clock.to_ticks, cpu_ns) - (before + (after - before) / 2));
    uint64_t took = after - begin;
    if (source == WTM_CPU_RSEQ && *thread->switch_word != thread->switch_expected)
        return 0;
    if (took < shortest_ticks)
        shortest_ticks = took;
    return took < shortest_ticks * 4 ? took : shortest_ticks;
}

int64_t wtm_cpu_noise_ticks(void)
{
    return shortest_ticks == UINT64_MAX ? 0 : (int64_t)shortest_ticks * 2;
}

void wtm_cpu_renew(struct wtm_thread *thread)
{
    enum { TRIES = 4 };
    if (source == WTM_CPU_OFF)
        return;
    if (wtm_process.sandboxed) { /* no pair can be had, but the calls that the switch interrupted must differ from others */
        if (source == WTM_CPU_RSEQ)
            arm(thread);
        thread->cpu_offset++;
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t took = read_pair(thread);
        thread->renewals++;
        thread->spent_ticks += took;
        if (took)
            break;
    }
    thread->spent_ticks += wtm_clock_sample(wtm_clock_ticks());
    if (thread->shared) {
        thread->shared->switches = thread->renewals;
        thread->shared->seen_ticks = wtm_clock_ticks();
        if (!(thread->renewals & (thread->renewals - 1))) { /* now and then: a power of two */
            char name[WTM_NAME_BYTES];
            wtm_name_own(name);
            wtm_name_set(thread, name);
        }
    }
}

void wtm_cpu_attach(struct wtm_thread *thread)
{
    thread->rseq_cs = NULL;
    if (source == WTM_CPU_RSEQ) {
        thread->rseq_cs = (uint64_t *)&rseq_area()->rseq_cs;
        thread->switch_word = thread->rseq_cs;
        thread->switch_expected = (uintptr_t)&descriptor;
        wtm_cpu_renew(thread);
    } else if (source == WTM_CPU_GETTIME) {
        thread->switch_never = 1;
        thread->switch_word = &thread->switch_never;
        thread->switch_expected = 0;
    } else {
        thread->switch_word = &always_the_same;
        thread->switch_expected = 0;
    }
}

static void sleep_ns(long ns)
{
    struct timespec t = {0, ns};
    wtm_syscall3(SYS_nanosleep, (long)&t, 0, 0);
}

/* Does the kernel clear rseq_cs when a thread blocks, and keep it while it runs? The second can fail by an honest
 * preemption, so it gets a few tries. */
static int rseq_works(const char **why)
{
    if (!__rseq_size) {
        *why = "rseq is not registered by the C library";
        return 0;
    }
    volatile uint64_t *word = (volatile uint64_t *)&rseq_area()->rseq_cs;
    if (*word) {
        *why = "the program uses its rseq area already";
        return 0;
    }
    descriptor.start_ip = (uintptr_t)wtm_rseq_range;
    descriptor.post_commit_offset = 1;
    descriptor.abort_ip = (uintptr_t)wtm_rseq_abort;
    *word = (uintptr_t)&descriptor;
    sleep_ns(100000);
    if (*word == (uintptr_t)&descriptor) {
        *word = 0;
        *why = "the kernel does not clear rseq_cs when a thread blocks";
        return 0;
    }
    int kept = 0;
    for (int i = 0; i < 20 && !kept; i++) {
        *word = (uintptr_t)&descriptor;
        wtm_syscall3(SYS_getppid, 0, 0, 0);
        kept = *word == (uintptr_t)&descriptor;
    }
    *word = 0;
    *why = kept ? "rseq tells of switches (self-test passed)" : "rseq_cs does not survive a system call";
    return kept;
}

enum wtm_cpu_source wtm_cpu_choose(int wanted, char *note, size_t bytes)
{
    const char *why = "as set by WTM_CPU";
    if (wanted == WTM_CPU_OFF || wanted == WTM_CPU_GETTIME)
        source = (enum wtm_cpu_source)wanted;
    else
        source = rseq_works(&why) ? WTM_CPU_RSEQ : WTM_CPU_GETTIME;
    size_t n = strnlen(why, bytes - 1);
    memcpy(note, why, n);
    note[n] = 0;
    return source;
}
