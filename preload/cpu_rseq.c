/* SPDX-License-Identifier: MIT
 * rseq as a sign of switches. Runs inside timed calls: general registers only. */
#include "preload/cpu_rseq.h"
#include <sys/rseq.h>

/* The kernel reads this descriptor at each switch while its address stands in rseq_cs, finds that the thread is not
 * inside [start_ip, start_ip + post_commit_offset) and clears rseq_cs: exactly the sign that we want. The range is one
 * byte of padding that never runs. abort_ip must lie outside of it and be preceded by the signature that glibc
 * registered, else the kernel would take it for an attack, though it is never jumped to. */
extern const char wtm_rseq_range[] WTM_HIDDEN, wtm_rseq_abort[] WTM_HIDDEN;
__asm__(".text\n\t.balign 16\n\t.long 0x53053053\n"
        ".hidden wtm_rseq_abort\n.globl wtm_rseq_abort\nwtm_rseq_abort:\n\tud2\n"
        ".hidden wtm_rseq_range\n.globl wtm_rseq_range\nwtm_rseq_range:\n\tnop\n\tnop\n");

static struct rseq_cs descriptor __attribute__((aligned(32)));

static struct rseq *area(void)
{
    char *pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return (struct rseq *)(pointer + __rseq_offset);
}

int wtm_rseq_registered(void)
{
    return __rseq_size && (int32_t)*(volatile uint32_t *)&area()->cpu_id >= 0; /* -1: not yet, -2: failed */
}

uint32_t wtm_rseq_cpu(void)
{
    return *(volatile uint32_t *)&area()->cpu_id;
}

uint64_t *wtm_rseq_word(void)
{
    return (uint64_t *)&area()->rseq_cs;
}

uint64_t wtm_rseq_expected(void)
{
    return (uintptr_t)&descriptor;
}

void wtm_rseq_arm(uint64_t *word)
{
    if (!descriptor.abort_ip) { /* at start-up, before there are threads of ours */
        descriptor.start_ip = (uintptr_t)wtm_rseq_range;
        descriptor.post_commit_offset = 1;
        descriptor.abort_ip = (uintptr_t)wtm_rseq_abort;
    }
    *(volatile uint64_t *)word = (uintptr_t)&descriptor;
}
