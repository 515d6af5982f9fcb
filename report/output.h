/* SPDX-License-Identifier: MIT
 * Standard output of the command: a text builder over it, and how wide it is. */
#ifndef WTM_REPORT_OUTPUT_H
#define WTM_REPORT_OUTPUT_H

#include "common/summary.h"
#include "common/text.h"

/* Begins a text that goes to standard output. One at a time: they share a buffer. */
void wtm_output_begin(struct wtm_text *text);
/* WTM_EXIT_OK, or WTM_EXIT_INPUT with a message when it could not all be written. A reader that went away (`|
 * head`) is no fault. */
int wtm_output_end(struct wtm_text *text);
/* The table on a descriptor, as wide as the terminal there; `verbose`: as in WTM_VERBOSE, or NULL. 0 or an exit code after a message. */
int wtm_output_table(const struct wtm_summary *summary, int fd, const char *verbose);
/* Columns of the terminal on standard output; 0 when it is none. */
int wtm_output_width(void);

#endif
