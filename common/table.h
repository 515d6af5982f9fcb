/* SPDX-License-Identifier: MIT
 * The table that people read: at the end of a program, and from `wtm report`. No stdio, no malloc, no locale.
 * Layout, units and column order are in one column table (table_columns.c). Below the table follow, where
 * there is something to tell: what no column had room for (recursive, abnormal, open calls), callers,
 * functions never called, patterns that found nothing, refusals, notes. No line is wider than the width; a
 * name too long for its column gets a line of its own. A process in which nothing was called gets one line.
 */
#ifndef WTM_COMMON_TABLE_H
#define WTM_COMMON_TABLE_H

#include "common/summary.h"
#include "common/text.h"

struct wtm_table_options {
    int width;           /* columns available; at least 80 are used */
    int wide;            /* 1: all columns, whatever the width */
    int verbose;         /* 1: also functions that were never called, all refusals, all callers */
    const char *program; /* name for the first line; NULL: header's */
    size_t top;          /* this many rows at most; 0: all */
    unsigned outliers;   /* of samples: this many layers are taken away; 0: none */
    int all_callers;     /* 1: all callers, without the rest of `verbose` */
};

/* Writes the whole report into `text`, rows in the order of the summary. 0 or the text's error. */
int wtm_table_print(struct wtm_text *text, const struct wtm_summary *summary,
                    const struct wtm_table_options *options);

#endif
