/* SPDX-License-Identifier: MIT
 * The profiles of one `wtm run`: where its processes put them, which they are, what becomes of them. */
#ifndef WTM_REPORT_COLLECT_H
#define WTM_REPORT_COLLECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/summary.h"

struct wtm_run_place {
    char *pattern;   /* for WTM_OUT: absolute, % fields not expanded */
    char *temporary; /* a folder made for the run, to be removed, or NULL */
    uint64_t number; /* of the run, for WTM_RUN */
};

struct wtm_run_files {
    char **paths; /* the root process's first, then by start */
    size_t count;
};

/* `out`: as the user gave it; NULL or "none": nothing is kept, the profiles lie in a folder of their own meanwhile. 0 or
 * an exit code after a message. */
int wtm_run_place_make(struct wtm_run_place *place, const char *out);
void wtm_run_place_free(struct wtm_run_place *place);

/* Finds the profiles of the run's processes. 0 or negative errno. */
int wtm_run_collect(struct wtm_run_files *files, const struct wtm_run_place *place, pid_t root);
void wtm_run_files_free(struct wtm_run_files *files);

/* After the report: removes what is not to be kept, and the files of processes that ended without a timed call; cuts the
 * others to what they hold. Processes that still run keep theirs. */
void wtm_run_tidy(const struct wtm_summary *summary, const struct wtm_run_place *place, pid_t root);

/* A file's name from a pattern with %p, %e, %h, %%: as preload/config.c does it. malloc'd; NULL without memory. */
char *wtm_run_expand(const char *pattern, pid_t pid, const char *program);

#endif
