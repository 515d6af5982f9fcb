/* SPDX-License-Identifier: MIT
 * A program as a child that the shell cannot tell from the program itself: its status, its signals, its job control. */
#ifndef WTM_REPORT_SUPERVISE_H
#define WTM_REPORT_SUPERVISE_H

#include <sys/types.h>

struct wtm_supervised {
    pid_t pid;
    int status; /* as from waitpid() */
    int error;  /* errno of execve(), or of what came before it; 0: it ran */
};

/* Runs `path` and waits for its end. Meanwhile signals that others send to this process go to the child; those that a
 * terminal sends reach the child by themselves; when the child is stopped from the terminal, so is this process. Standard
 * input and output are given up. `before`: called in the child, may be NULL; not 0: it does not run. */
void wtm_supervise(struct wtm_supervised *supervised, const char *path, char *const *argv,
                   int (*before)(void *context), void *context);

/* Ends this process as the child ended: by the same status, or the same signal. Gives an exit code where the signal does
 * not end it. */
int wtm_end_as(const struct wtm_supervised *supervised);

#endif
