/* SPDX-License-Identifier: MIT
 * CPU time by the TSC and a word that tells of switches. Renewals run inside timed calls: general registers only. */
#include "preload/cputime.h"
#include "common/sys.h"
#include "preload/clock.h"
#include "preload/cpu_perf.h"
#include "preload/cpu_rseq.h"
#include "preload/process.h"
#include "preload/profile.h"
#include "preload/reuse.h"
#include <string.h>
#include <time.h>

static enum wtm_cpu_source source = WTM_CPU_OFF;
static uint64_t always_the_same;
static int page_tells_time; /* PERF: the thread's page gives CPU time, and it agreed with the clock at start */

int wtm_cpu_is_cheap(const struct wtm_thread *thread)
{
    return thread->switch_word != &thread->switch_never;
}

int wtm_cpu_is_known(void)
{
    return source != WTM_CPU_OFF;
}

/* From now on a switch shows in the switch word. */
static void arm(struct wtm_thread *thread)
{
    if (thread->rseq_cs)
        wtm_rseq_arm(thread->rseq_cs);
    else if (thread->perf_page)
        thread->switch_expected = *thread->switch_word;
}

/* What a reading costs when nothing comes between; longer ones were interrupted. */
static uint64_t shortest_ticks = UINT64_MAX; /* of all threads; read and written by atomic accesses only */

static uint64_t shortest(void)
{
    return __atomic_load_n(&shortest_ticks, __ATOMIC_RELAXED);
}

static void note_length(uint64_t took)
{
    uint64_t before = shortest();
    while (took < before &&
           !__atomic_compare_exchange_n(&shortest_ticks, &before, took, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* One reading of the CPU clock. */
struct reading {
    int64_t cpu;           /* in ticks of the TSC */
    uint64_t begin, after; /* TSC around it */
    int interrupted;       /* 1: it took too long, so a wait lies in it */
};

/* CPU time less TSC, for the time just before the reading and just after it. Both are one while the thread runs. A wait
 * inside leaves the CPU clock alone: on each side of it only half of a plain reading is between. */
static int64_t offset_before(const struct reading *r)
{
    uint64_t half = (r->interrupted ? shortest() : r->after - r->begin) / 2;
    return r->cpu - (int64_t)(r->begin + half);
}

static int64_t offset_after(const struct reading *r)
{
    uint64_t half = r->interrupted ? shortest() / 2 : r->after - r->begin - (r->after - r->begin) / 2;
    return r->cpu - (int64_t)(r->after - half);
}

static struct reading read_clock(const struct wtm_thread *thread)
{
    struct reading r = {.begin = wtm_clock_ticks()};
    uint64_t ns;
    if (page_tells_time && thread->perf_page && wtm_perf_time(thread->perf_page, r.begin, &ns)) {
        r.after = r.begin;
    } else {
        ns = wtm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        r.after = wtm_clock_ticks();
    }
    r.cpu = (int64_t)wtm_convert(wtm_clock.to_ticks, ns);
    uint64_t took = r.after - r.begin;
    note_length(took);
    r.interrupted = took / 4 > shortest();
    return r;
}

int64_t wtm_cpu_noise_ticks(void)
{
    return shortest() == UINT64_MAX ? 0 : (int64_t)shortest() * 2;
}

/* A new pair that holds from now on. What it cost is added to spent_ticks, waits excepted: they were not our doing. A signal
 * handler that made a pair in between is as good as a switch: ours, stored over it, may be older than one. */
static int renew_once(struct wtm_thread *thread, int64_t *before)
{
    uint64_t number = ++thread->renewals, begin = wtm_clock_ticks();
    arm(thread); /* first, so that a switch during the reading is noticed */
    struct reading r = read_clock(thread);
    *before = offset_before(&r) + thread->hidden_wait;
    thread->cpu_offset = offset_after(&r) + thread->hidden_wait;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    int clean = thread->renewals == number && (!wtm_cpu_is_cheap(thread) || *thread->switch_word == thread->switch_expected);
    thread->spent_ticks += r.interrupted || !clean ? shortest() : r.after - begin;
    return clean;
}

int64_t wtm_cpu_renew(struct wtm_thread *thread)
{
    enum { TRIES = 4 };
    int64_t before, later;
    if (source == WTM_CPU_OFF)
        return thread->cpu_offset;
    if (wtm_process.sandboxed && !(page_tells_time && thread->perf_page)) {
        arm(thread); /* no pair can be had, but the calls that the switch interrupted must differ from others */
        return ++thread->cpu_offset;
    }
    int clean = renew_once(thread, &before);
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
    /* Last: a switch meanwhile must not be charged to the call that begins next. */
    for (int i = 1; i < TRIES && (!clean || (wtm_cpu_is_cheap(thread) && *thread->switch_word != thread->switch_expected)); i++)
        clean = renew_once(thread, &later);
    return before;
}

static int64_t offset_now(struct wtm_thread *thread)
{
    return *thread->switch_word == thread->switch_expected ? thread->cpu_offset : wtm_cpu_renew(thread);
}

struct wtm_cpu_work wtm_cpu_work_begin(struct wtm_thread *thread)
{
    offset_now(thread); /* earlier waits are none of this */
    return (struct wtm_cpu_work){wtm_clock_ticks(), thread->cpu_offset};
}

void wtm_cpu_work_end(struct wtm_thread *thread, struct wtm_cpu_work work)
{
    int64_t took = (int64_t)(wtm_clock_ticks() - work.begin), waited = work.offset - offset_now(thread);
    if (waited > 0 && !wtm_process.sandboxed)
        took = waited < took ? took - waited : 0;
    thread->spent_ticks += (uint64_t)took;
}

/* The block's last owner may have left a page. */
static void attach_perf(struct wtm_thread *thread)
{
    static uint32_t told;
    int problem;
    if (thread->perf_page)
        wtm_perf_close(thread->perf_page);
    thread->perf_page = wtm_perf_open(&problem);
    if (thread->perf_page)
        thread->switch_word = wtm_perf_word(thread->perf_page);
    else if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        wtm_profile_note("some threads could have no perf event (descriptors, locked memory or a filter): the runtime of "
                         "their calls was read by clock_gettime");
}

void wtm_cpu_attach(struct wtm_thread *thread)
{
    thread->rseq_cs = NULL;
    thread->switch_never = 1; /* the CPU clock at each call, unless something better follows */
    thread->switch_word = &thread->switch_never;
    thread->switch_expected = 0;
    if (source == WTM_CPU_OFF)
        thread->switch_word = &always_the_same;
    if (source == WTM_CPU_RSEQ && wtm_rseq_registered()) {
        thread->switch_word = thread->rseq_cs = wtm_rseq_word();
        thread->switch_expected = wtm_rseq_expected();
    }
    if (source == WTM_CPU_PERF)
        attach_perf(thread);
    if (wtm_cpu_is_cheap(thread))
        wtm_cpu_renew(thread);
}

void wtm_cpu_forked(struct wtm_thread *thread)
{
    thread->perf_page = NULL;
}

static void sleep_ns(long ns)
{
    struct timespec t = {0, ns};
    wtm_syscall3(SYS_nanosleep, (long)&t, 0, 0);
}

/* Does the word change each time that the thread blocks, and keep while it runs? A kernel that clears rseq_cs at interrupts
 * only (6.19 does not for a thread that blocks in a system call) may do so once by chance, so it must hold several times. The
 * second can fail by an honest preemption: it needs to hold once. `arm_word` gives the value that must not be seen later. */
static int word_works(const volatile uint64_t *word, uint64_t (*arm_word)(const volatile uint64_t *), const char **why)
{
    enum { SLEEPS = 3, TRIES = 20 };
    for (int i = 0; i < SLEEPS; i++) {
        uint64_t armed = arm_word(word);
        sleep_ns(20000);
        if (*word == armed) {
            *why = "a blocked thread leaves no sign";
            return 0;
        }
    }
    for (int i = 0; i < TRIES; i++) {
        uint64_t armed = arm_word(word);
        wtm_syscall3(SYS_getppid, 0, 0, 0);
        if (*word == armed)
            return 1;
    }
    *why = "the sign does not survive a system call";
    return 0;
}

static uint64_t arm_rseq(const volatile uint64_t *word)
{
    wtm_rseq_arm((uint64_t *)(uintptr_t)word);
    return wtm_rseq_expected();
}

static uint64_t arm_perf(const volatile uint64_t *word)
{
    return *word;
}

static int rseq_works(const char **why)
{
    if (!wtm_rseq_registered()) {
        *why = "not registered by the C library";
        return 0;
    }
    uint64_t *word = wtm_rseq_word();
    if (*(volatile uint64_t *)word) {
        *why = "the program uses its rseq area already";
        return 0;
    }
    int works = word_works(word, arm_rseq, why);
    *(volatile uint64_t *)word = 0;
    return works;
}

/* Does the page's time advance as the clock's does, over a sleep and some work? */
static int page_agrees(const struct perf_event_mmap_page *page)
{
    enum { WORK_NS = 200000, NEAR_NS = 20000 };
    uint64_t by_page[2] = {0, 0}, by_clock[2];
    for (int i = 0; i < 2; i++) {
        const volatile uint64_t *word = wtm_perf_word(page);
        uint64_t lock;
        do {
            lock = *word;
            if (!wtm_perf_time(page, wtm_clock_ticks(), &by_page[i]))
                return 0;
        } while (*word != lock);
        by_clock[i] = wtm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        sleep_ns(i ? 0 : 20000);
        while (!i && wtm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - by_clock[0] < WORK_NS)
            ;
    }
    int64_t apart = (int64_t)(by_page[1] - by_page[0] - (by_clock[1] - by_clock[0]));
    return apart < NEAR_NS && apart > -NEAR_NS;
}

static int perf_works(const char **why)
{
    int problem = 0, works;
    struct perf_event_mmap_page *page = wtm_perf_open(&problem);
    if (!page) {
        *why = problem == -13 || problem == -1 ? "forbidden (perf_event_paranoid, or a filter)" :
               problem == -24                  ? "no descriptor is free" :
               problem == -38 || problem == -2 ? "this kernel has none" :
                                                 "the kernel refused";
        return 0;
    }
    works = word_works(wtm_perf_word(page), arm_perf, why);
    page_tells_time = works && !wtm_clock.monotonic && page_agrees(page); /* it is in TSC ticks */
    wtm_perf_close(page);
    return works;
}

struct note {
    char *to;
    size_t used, bytes;
};

static void add(struct note *note, const char *text)
{
    size_t n = strnlen(text, note->bytes - 1 - note->used);
    memcpy(note->to + note->used, text, n);
    note->used += n;
    note->to[note->used] = 0;
}

static int try(enum wtm_cpu_source candidate, struct note *note)
{
    const char *why = "";
    int works = candidate == WTM_CPU_RSEQ ? rseq_works(&why) : perf_works(&why);
    if (works) {
        source = candidate;
        add(note, candidate == WTM_CPU_RSEQ ? "rseq tells of switches (self-test passed)" :
                  page_tells_time           ? "a perf event's page tells the time (self-test passed)" :
                                              "a perf event's page tells of switches (self-test passed)");
    } else {
        add(note, candidate == WTM_CPU_RSEQ ? "no rseq: " : "no perf event: ");
        add(note, why);
        add(note, "; ");
    }
    return works;
}

enum wtm_cpu_source wtm_cpu_choose(int wanted, char *note, size_t bytes)
{
    struct note words = {note, 0, bytes};
    source = WTM_CPU_GETTIME;
    if (wanted == WTM_CPU_OFF || wanted == WTM_CPU_GETTIME) {
        source = (enum wtm_cpu_source)wanted;
        add(&words, "as set by WTM_CPU");
    } else if (!(wanted != WTM_CPU_PERF && try(WTM_CPU_RSEQ, &words)) &&
               !(wanted != WTM_CPU_RSEQ && try(WTM_CPU_PERF, &words))) {
        add(&words, "clock_gettime at each call");
    }
    return source;
}
