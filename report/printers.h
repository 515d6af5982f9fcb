/* SPDX-License-Identifier: MIT
 * One printer per format. Each walks the rows of a summary in their order and knows nothing of the others. */
#ifndef WTM_REPORT_PRINTERS_H
#define WTM_REPORT_PRINTERS_H

#include "common/summary.h"
#include "common/table.h"

/* `options`: the table's; top counts for every format. 0 or the text's error. */
typedef int wtm_printer(struct wtm_text *text, const struct wtm_summary *summary,
                        const struct wtm_table_options *options);

wtm_printer wtm_print_json; /* schema wtm-report/1, docs/profile-format.md */
wtm_printer wtm_print_csv;  /* as in RFC 4180, with plain newlines; a line a function, the first one names the
                               columns */

struct wtm_outliers;
/* The observations of the functions that `pattern` names (a name or a glob), a line each; *printed: how many. */
int wtm_print_samples(struct wtm_text *text, const struct wtm_summary *summary, const char *pattern, size_t *printed);
/* Each function with samples, after `options->outliers` layers of outliers were taken away: a line each. */
wtm_printer wtm_print_outliers;
/* The same for one function, realtime or runtime. 0 or -ENOMEM. */
int wtm_row_outliers(const struct wtm_row *row, unsigned layers, int runtime, struct wtm_outliers *found);

/* Of a profile that was never armed: what can be timed, and what not. `options`: program, width, top. */
wtm_printer wtm_print_list;
wtm_printer wtm_print_list_json; /* schema wtm-list/1 */

/* A field of CSV: quoted where needed. Control characters and invalid UTF-8 become \xNN, so that a row is a
 * line. */
void wtm_csv_field(struct wtm_text *text, const char *value);

#endif
