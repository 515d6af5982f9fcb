/* SPDX-License-Identifier: MIT
 * Programs that give up system calls (seccomp). A call that a filter does not allow ends the program, so when one is about
 * to be installed all that we need later is prepared, and from then on no system call but write is made. A filter that
 * allows all that we use changes nothing: what it allows is found by running it. */
#ifndef WTM_PRELOAD_SANDBOX_H
#define WTM_PRELOAD_SANDBOX_H

#include "preload/hot.h"
#include "preload/process.h"

/* The program is about to give up system calls: `mode` is SECCOMP_MODE_STRICT or SECCOMP_MODE_FILTER, `program` the
 * filter's struct sock_fprog (any address: it may be a wrong one). The calling thread is unmuted. */
void wtm_sandbox_enter(uint64_t mode, uintptr_t program) WTM_HIDDEN;

/* Start-up: a system call that we need and that a filter which was there before us (a service manager's, a container's)
 * answers by ending the process; NULL when there is none. Found by a child that tries them. */
const char *wtm_sandbox_inherited(void) WTM_HIDDEN;

/* What a filter says to a system call. `count` instructions as the kernel accepts them; 0 (kill) where they make no sense. */
struct sock_filter;
struct seccomp_data;
uint32_t wtm_filter_run(const struct sock_filter *filter, unsigned count, const struct seccomp_data *data) WTM_HIDDEN;

#endif
