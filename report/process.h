/* SPDX-License-Identifier: MIT
 * Running processes: does one carry the library, and where is its profile? Everything comes from /proc; nothing is
 * attached to, nothing is stopped. */
#ifndef WTM_REPORT_PROCESS_H
#define WTM_REPORT_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/profile_format.h"

struct wtm_process_view {
    pid_t pid, inner_pid; /* here, and as the process itself sees it (containers) */
    int handle;           /* pidfd, or -1: stays this process's, whatever becomes of the number */
    int profile;          /* descriptor of its profile, or -1 */
    int own;              /* 1: the profile is its own; 0: still its parent's, it has forked and called nothing since */
    int carries;          /* 1: the library is loaded */
    char name[32];
};

/* 0, or WTM_EXIT_INPUT after a message that begins "wtm COMMAND: PID: ". Also 0 without library or profile. The number of a
 * `wtm run` stands for the program that it runs. */
int wtm_process_open(struct wtm_process_view *view, pid_t pid, const char *command);
void wtm_process_close(struct wtm_process_view *view);
/* Looks again for a profile of its own, when it had its parent's. */
void wtm_process_look_again(struct wtm_process_view *view);
/* The profile's header as it is now. 0 or -1. */
int wtm_process_header(const struct wtm_process_view *view, struct wtm_profile_header *header);
/* 1 while it runs. */
int wtm_process_alive(const struct wtm_process_view *view);

struct wtm_process_state {
    char state;               /* as in proc(5): R, S, D, T, Z ... ; 0 when it is gone */
    uint64_t caught, blocked; /* signals; bit 0 is signal 1. Blocked: by its main thread */
};
void wtm_process_state(const struct wtm_process_view *view, struct wtm_process_state *state);
/* 0 or a negative errno. */
int wtm_process_signal(const struct wtm_process_view *view, int number);

/* The same by a queued signal that carries `value`. */
int wtm_process_queue(const struct wtm_process_view *view, int number, int value);

/* A whole number that can be a process id, or 0. */
pid_t wtm_process_number(const char *text);

#endif
