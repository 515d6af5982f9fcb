/* SPDX-License-Identifier: MIT
 * Starts a program and stops it where its own code would begin: the loader has loaded everything, preloaded
 * libraries have done their work, main has not run. Then it is killed. */
#ifndef WTM_REPORT_TO_ENTRY_H
#define WTM_REPORT_TO_ENTRY_H

#include <stddef.h>

/* Executes `path` in the environment as it stands, standard input and output closed off. 0 when it got there;
 * else negative with a reason in words in `reason`. */
int wtm_run_to_entry(const char *path, char *const *argv, char *reason, size_t reason_bytes);

#endif
