/* SPDX-License-Identifier: MIT
 * CPU time of a thread without a system call per reading. Between two switches of a thread its CPU time advances with
 * the TSC, so one pair (CPU time, TSC) serves until the thread was switched out; a word that changes at a switch tells.
 *
 * Sources: rseq (cpu_rseq.h); the page of a software perf event (cpu_perf.h); clock_gettime at each call; off. Which one is
 * used is decided once, at start, by self-tests. A thread that cannot have what was chosen reads the clock at each call. */
#ifndef WTM_PRELOAD_CPUTIME_H
#define WTM_PRELOAD_CPUTIME_H

#include "preload/hot.h"

/* Chooses the source. `wanted`: -1 for the best, else an enum wtm_cpu_source. `note` (of `bytes`) gets how it was chosen,
 * in words. Gives the source. Start-up only; sleeps three times, some 0.25 ms in all, for each source that is tried. */
enum wtm_cpu_source wtm_cpu_choose(int wanted, char *note, size_t bytes) WTM_HIDDEN;

/* Sets up the calling thread's block. */
void wtm_cpu_attach(struct wtm_thread *thread) WTM_HIDDEN;
/* A new pair for the calling thread, whose block this is; its own duration is added to spent_ticks. Gives the offset (see
 * cpu_offset) that held until now: it differs from the new one when the thread was switched out in here. */
int64_t wtm_cpu_renew(struct wtm_thread *thread) WTM_HIDDEN;
/* Work of ours that is longer than a call's, from _begin to _end: what the calling thread ran meanwhile is added to spent_ticks.
 * What it waited is not: that is in realtime as any wait is, and in no runtime. */
struct wtm_cpu_work {
    uint64_t begin;
    int64_t offset;
};
struct wtm_cpu_work wtm_cpu_work_begin(struct wtm_thread *thread) WTM_HIDDEN;
void wtm_cpu_work_end(struct wtm_thread *thread, struct wtm_cpu_work work) WTM_HIDDEN;
/* What two readings of the CPU clock can be off by, in ticks: the time that they take. */
int64_t wtm_cpu_noise_ticks(void) WTM_HIDDEN;
/* 0 when there is no source. */
int wtm_cpu_is_known(void) WTM_HIDDEN;
/* 1 while a pair of this thread stays valid until a switch; 0 where every reading is a system call. */
int wtm_cpu_is_cheap(const struct wtm_thread *thread) WTM_HIDDEN;
/* In a child of fork, of each block: what the parent had mapped for it is not here. Before wtm_cpu_attach(). */
void wtm_cpu_forked(struct wtm_thread *thread) WTM_HIDDEN;

#endif
