/* SPDX-License-Identifier: MIT
 * What `wtm clock` found, and how it is printed. */
#ifndef WTM_REPORT_PRINT_CLOCK_H
#define WTM_REPORT_PRINT_CLOCK_H

#include "common/clock_facts.h"
#include "common/clock_fit.h"
#include "common/text.h"
#include "report/clock_methods.h"
#include "report/clock_rate.h"

enum wtm_clock_verdict {
    WTM_CLOCK_TRUSTED = 0,
    WTM_CLOCK_FAULTY = 1,   /* a fault was measured */
    WTM_CLOCK_DOUBTFUL = 2, /* none was, but processor, hypervisor or kernel speak against it */
    WTM_CLOCK_UNDECIDED = 3 /* too little was seen */
};

struct wtm_clock_method {
    struct wtm_clock_judge judge;
    struct wtm_shift shift;
    struct wtm_drift drift;
    int was_run, stands;
};

struct wtm_clock_report {
    struct wtm_clock_facts facts;
    char flags[128];              /* of /proc/cpuinfo that speak of the counter */
    const char *against;          /* what processor, hypervisor or kernel say against it, or NULL */
    struct wtm_cpus cpus;
    unsigned cpus_online;
    struct wtm_clock_method hop, race;
    uint32_t step_256;            /* granularity in 1/256 ticks; 0: not known */
    struct wtm_clock_fit rate;    /* against the kernel's raw clock over the whole test */
    int has_rate;
    struct wtm_rate_check check;  /* of --rate */
    int has_check;
    const char *simulated;        /* what was simulated, or NULL */
    size_t weight;
    enum wtm_clock_verdict verdict;
    char reason[256];             /* in words, where it is not trusted */
};

void wtm_print_clock(struct wtm_text *text, const struct wtm_clock_report *report);
void wtm_print_clock_json(struct wtm_text *text, const struct wtm_clock_report *report);

#endif
