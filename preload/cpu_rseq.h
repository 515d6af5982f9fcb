/* SPDX-License-Identifier: MIT
 * The thread's rseq area as a sign of switches: the kernel clears rseq_cs at preemption, migration and signals when the thread
 * is outside of the critical section that it names. Needs no privilege; glibc registers the area from 2.35 on. */
#ifndef WTM_PRELOAD_CPU_RSEQ_H
#define WTM_PRELOAD_CPU_RSEQ_H

#include "preload/hot.h"

/* 1: the calling thread has an area that the kernel knows. Threads made by a raw clone() have none. */
int wtm_rseq_registered(void) WTM_HIDDEN;
/* The processor that the thread runs on, where it is registered. */
uint32_t wtm_rseq_cpu(void) WTM_HIDDEN;
/* Its rseq_cs. */
uint64_t *wtm_rseq_word(void) WTM_HIDDEN;
/* What it holds until the thread is switched out; put there by: */
uint64_t wtm_rseq_expected(void) WTM_HIDDEN;
void wtm_rseq_arm(uint64_t *word) WTM_HIDDEN;

#endif
