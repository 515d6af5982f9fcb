/* SPDX-License-Identifier: MIT
 * Where stamps come from: the processor's counter, or one with a known fault made from it, on which the same judgement must
 * come to that fault. */
#ifndef WTM_REPORT_COUNTER_H
#define WTM_REPORT_COUNTER_H

#include <stdint.h>

struct wtm_counter;
/* `cpu`: index of the CPU that the caller is pinned to. The reading is done after all before it and before all behind it. */
typedef uint64_t wtm_counter_read(const struct wtm_counter *counter, unsigned cpu);

struct wtm_counter {
    wtm_counter_read *read;
    /* of a simulated one; all in ticks */
    unsigned faulty_cpu;  /* index: shift, drift and stall are this one's */
    int64_t shift;        /* it is ahead by so much */
    double drift_ppb;     /* it runs faster by so much */
    uint64_t back, stall; /* every `period`: all step back and stay there; it stands still for so long, and catches up */
    uint64_t start, period;
};

void wtm_counter_real(struct wtm_counter *counter);
/* `words`: shift=TICKS,drift=PPB,back=TICKS,stall=TICKS, any of them; none is a sound counter. `cpus`: how many there will
 * be; the last one is at fault. 0, or -1 when a word is wrong. */
int wtm_counter_simulated(struct wtm_counter *counter, const char *words, unsigned cpus);

static inline uint64_t wtm_clock_stamp(void)
{
    uint32_t low, high;
    /* A locked instruction beside it does not do: on AMD it orders no rdtsc. */
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return low | (uint64_t)high << 32;
}

#endif
