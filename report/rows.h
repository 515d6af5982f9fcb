/* SPDX-License-Identifier: MIT
 * Rows of a summary as the printers see them: one table of their numbers, one table of the orders they can be
 * in. */
#ifndef WTM_REPORT_ROWS_H
#define WTM_REPORT_ROWS_H

#include "common/summary.h"

struct wtm_number {
    const char *name;
    size_t offset;
};

extern const struct wtm_number wtm_row_counts[]; /* uint64_t in struct wtm_row */
extern const size_t wtm_row_count_number;
extern const struct wtm_number
    wtm_times_fields[]; /* double in struct wtm_times; self_ns is the row's and comes second */
extern const size_t wtm_times_field_number;

uint64_t wtm_row_count_value(const struct wtm_row *row, const struct wtm_number *number);
/* `runtime`: of the runtime. NAN where there is none: nothing measured, or self time of runtime, which nobody
 * sums. */
double wtm_row_time_value(const struct wtm_row *row, int runtime, const struct wtm_number *number);

/* Sorts rows by the key named, largest first (names: from a to z). -EINVAL when there is no such key. */
int wtm_rows_sort(struct wtm_summary *summary, const char *key);
/* "total, self, ..." for --help and messages. */
extern const char wtm_rows_sort_keys[];

#endif
