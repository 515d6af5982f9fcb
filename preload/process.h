/* SPDX-License-Identifier: MIT
 * What is known of the process we live in. */
#ifndef WTM_PRELOAD_PROCESS_H
#define WTM_PRELOAD_PROCESS_H

#include <stdint.h>
#include "preload/hot.h"

struct wtm_process {
    uint32_t pid;
    uint32_t ready;  /* 1 once blocks of threads may be made */
    uint32_t forked; /* 1: we came from a fork of a timed process */
    uint32_t parent;
    uint32_t sandboxed; /* 1: no system call but write may be made; see sandbox.h */
    uint32_t nameless;  /* 1: threads may not ask for their names */
    uint32_t no_perf;   /* 1: perf_event_open may not be called, or forks cannot be noticed (its pages are gone in a child) */
    uint32_t no_usage;  /* 1: getrusage may not be called */
    uint32_t tsc_off;   /* 1: some thread must not read the TSC (PR_SET_TSC) */
    uint32_t gates_asked; /* by set_gates() in install.c: by how many, since it was last at rest */
    uint32_t installer;   /* thread that changes what is timed right now, or 0 */
    uint32_t table_owner; /* thread that prints a table right now, or 0 */
    uint32_t armed;  /* what the gates are to be: the header of a child's parent may say otherwise by now */
    uint64_t stack_low, stack_high; /* of the main thread */
    char program[256];   /* its file name without directories */
    char host[64];       /* name of the machine */
    uint64_t run;        /* of `wtm run`, which prints one table for all processes with this number; 0: none */
    uint32_t run_root;   /* pid of the process that it started itself */
    uint64_t generation; /* copy of wtm_generation that a child inherits */
};
extern struct wtm_process wtm_process WTM_HIDDEN;

/* At the first event in a child of fork: a profile of its own, with the same functions and no counts. General registers
 * only. Afterwards wtm_generation is valid again. */
void wtm_process_forked(void) WTM_HIDDEN;

struct wtm_profile_header;
/* Who and when: the part of the header that is told anew for each process. */
void wtm_profile_begin(struct wtm_profile_header *header) WTM_HIDDEN;

#endif
