/* SPDX-License-Identifier: MIT
 * Blocks of threads: made at a thread's first event, taken over by a new thread at the same thread pointer, never
 * unmapped. Rules of hot.h. */
#ifndef WTM_PRELOAD_THREAD_H
#define WTM_PRELOAD_THREAD_H

#include "preload/hot.h"

/* Brings the calling thread up to date with wtm_generation: makes or finds its block, notices a fork, a reset, new
 * functions. Gives the block, or NULL when there is no memory (the call at hand then runs untimed). Its generation stays
 * old when a reset has to wait for code that this signal handler interrupted: until then events take the slow paths.
 * Signal-safe. */
struct wtm_thread *wtm_thread_sync(void) WTM_HIDDEN;

/* Functions exist up to index `count`: blocks made from now on have room for them; others grow when they sync. */
void wtm_thread_expect(uint32_t count) WTM_HIDDEN;
/* All threads sync at their next event. */
void wtm_generation_advance(void) WTM_HIDDEN;
/* Makes `count` blocks in advance, for threads that begin when no memory can be had any more. */
void wtm_threads_stock(unsigned count) WTM_HIDDEN;
/* At the end: which threads but `own` are gone; their open calls are closed as abnormal. Uses tgkill(…, 0). */
void wtm_threads_bury(const struct wtm_thread *own) WTM_HIDDEN;

/* At a table: threads that live get the names that they have now. */
void wtm_threads_name(void) WTM_HIDDEN;

/* Our own code runs on this thread until unmuted: calls of timed functions pass through uncounted. Nests. */
struct wtm_thread *wtm_mute(void) WTM_HIDDEN;
void wtm_unmute(struct wtm_thread *before) WTM_HIDDEN;

/* Where the calling thread's alternate signal stack lies, high exclusive; equal when it has none. */
void wtm_thread_alternate(uint64_t low, uint64_t high) WTM_HIDDEN;
int wtm_thread_is_alternate(uint64_t sp) WTM_HIDDEN;

/* A new block, or NULL; and into the list, for good. */
struct wtm_thread *wtm_thread_make(void) WTM_HIDDEN;
void wtm_thread_publish(struct wtm_thread *thread) WTM_HIDDEN;

#endif
