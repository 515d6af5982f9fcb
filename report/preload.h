/* SPDX-License-Identifier: MIT
 * What stands before every command that starts a program under the library: the program is looked at, the
 * library found, LD_PRELOAD set in this process's environment. */
#ifndef WTM_REPORT_PRELOAD_H
#define WTM_REPORT_PRELOAD_H

#include "report/target_check.h"

/* 0, or an exit code after a message. `command`: its name, for messages. */
int wtm_preload(struct wtm_target_check *check, const char *command, const char *program);
/* "wtm COMMAND: SUBJECT: WORDS" on stderr; gives `exit_code`. */
int wtm_preload_error(const char *command, int exit_code, const char *subject, const char *words);

#endif
