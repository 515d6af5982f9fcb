/* SPDX-License-Identifier: MIT
 * Messages to the user: one line each, on the standard error that the process had at start. Nothing is printed there when
 * the program has since closed it and uses the number for something else. Raw write, no libc. */
#ifndef WTM_PRELOAD_LOG_H
#define WTM_PRELOAD_LOG_H

#include <stddef.h>
#include "preload/hot.h"

/* Remembers what standard error is. First of all. */
void wtm_log_open(void) WTM_HIDDEN;
/* The table goes elsewhere: the duplicate is closed, so that the program sees no descriptor of ours. Messages then come on
 * 2, as long as that is what it was. */
void wtm_log_release(void) WTM_HIDDEN;
/* "wtm: " and the strings, up to NULL, and a newline. Control characters in them are shown as \xNN. */
void wtm_log_parts(const char *const *parts) WTM_HIDDEN;
#define wtm_log(...) wtm_log_parts((const char *const[]){__VA_ARGS__, NULL})
/* Whole text as it is; 0 or negative errno, -EBADF when the standard error of the start is gone. */
int wtm_log_write(const char *text, size_t bytes) WTM_HIDDEN;
/* The same to another descriptor; -EFBIG rather than a signal where a limit on file sizes would be passed. */
int wtm_log_write_to(int fd, const char *text, size_t bytes) WTM_HIDDEN;
/* System calls are about to be given up: from now on nothing but write is called, and with `may_write` 0 not even that. */
void wtm_log_seal(int may_write) WTM_HIDDEN;
/* Where messages go, or -1. */
int wtm_log_descriptor(void) WTM_HIDDEN;
/* Columns of the terminal, or 0 when standard error is none. */
int wtm_log_width(void) WTM_HIDDEN;

#endif
