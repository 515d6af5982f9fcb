/* SPDX-License-Identifier: MIT
 * Operands that may be files or running processes, as paths that wtm_load() can open. */
#ifndef WTM_REPORT_LIVE_H
#define WTM_REPORT_LIVE_H

#include "report/process.h"

struct wtm_live {
    char **paths;
    struct wtm_process_view *views; /* of those operands that are processes; others have pid 0 */
    size_t count;
};

/* An operand that is a number, and no file of that name is there, is a process: its profile is opened and stays at hand
 * after its end. `pid`: one more, a process in any case; may be NULL. 0, or WTM_EXIT_INPUT after a message. Close it in any
 * case. */
int wtm_live_open(struct wtm_live *live, const char *command, char **operands, size_t count, const char *pid);
void wtm_live_close(struct wtm_live *live);

#endif
