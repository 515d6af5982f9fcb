/* SPDX-License-Identifier: MIT
 * Can a library be preloaded into this program? Looks at the file as the kernel and the loader would. */
#ifndef WTM_REPORT_TARGET_CHECK_H
#define WTM_REPORT_TARGET_CHECK_H

#include <limits.h>
#include <stddef.h>

struct wtm_target_check {
    char path[PATH_MAX];    /* of the program, found in PATH where its name has no slash */
    char subject[PATH_MAX]; /* what `problem` and `warning` are about: the program, or a script's interpreter
                             */
    char problem[256];      /* why it cannot work, in words; empty: it can */
    char warning[256];      /* what will not work, or empty */
    char runtime[256]; /* a library that must stand before ours in LD_PRELOAD (a sanitizer's), or empty */
};

/* 0, or WTM_EXIT_CANNOT or WTM_EXIT_NO_PROGRAM with `problem` set. */
int wtm_target_check(struct wtm_target_check *check, const char *program);

#endif
