/* SPDX-License-Identifier: MIT
 * What processor, hypervisor and kernel say of the TSC, and the judgement that follows from it. What they say is not what
 * was measured: `wtm clock` measures. */
#ifndef WTM_COMMON_CLOCK_FACTS_H
#define WTM_COMMON_CLOCK_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include "common/profile_format.h"

struct wtm_clock_facts {
    int invariant;         /* CPUID 80000007h EDX bit 8: one rate in all states of power */
    int hypervisor;        /* CPUID 1 ECX bit 31 */
    int stable_guest;      /* KVM tells that its clock, and so the TSC, agrees between CPUs (40000001h EAX bit 24) */
    char maker[13];        /* of the hypervisor, as it calls itself; empty: none */
    uint64_t stated_hz;    /* the rate that somebody states in so many words; 0: nobody does */
    enum wtm_rate_source stated_by;
    char current[32];      /* kernel's clocksource; empty: not told */
    char available[128];   /* those that it would take, separated by blanks */
    int unreadable;        /* 1: reading the TSC would end the process (PR_SET_TSC) */
    int unsteady;          /* 1: a few readings in a row went backwards or stood still */
};

/* Asks. A few microseconds: CPUID, two or three small files of /sys. Raw system calls only; `unsteady` is left 0. */
void wtm_clock_facts_read(struct wtm_clock_facts *facts);

/* Why the TSC cannot be trusted, in words; NULL when nothing speaks against it. That the kernel uses another clock is
 * nothing against the TSC as long as it would still take it. Pure. */
const char *wtm_clock_facts_against(const struct wtm_clock_facts *facts);

/* 1 when the kernel's vdso tells the time by the TSC, without a system call. Pure. */
int wtm_clock_facts_vdso(const struct wtm_clock_facts *facts);

#endif
